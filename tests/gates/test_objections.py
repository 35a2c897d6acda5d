"""When QC and a task's workers come to no end."""

from __future__ import annotations

from orchestrator.domain.finding import Finding
from orchestrator.gates.finding import make_finding
from orchestrator.gates.objections import Objection, repeated_objection


def raised(code: str = "flaw", locus: str = "calc.py:5", message: str = "It is wrong.") -> Finding:
    """What QC holds against the work."""
    return make_finding("review", code, locus, message, "Mend it.")


def said(*rejections: tuple[Finding, ...]) -> Objection | None:
    """What these rejections come to."""
    return repeated_objection(rejections, "qc-model")


def test_the_third_rejection_for_the_same_is_one_too_many() -> None:
    """By code and place, however it is worded; in between there may be others."""
    again = raised(message="Still wrong.")
    found = said((raised(),), (raised("other"),), (again,), (raised("other", "b.py"), again))
    assert found == Objection(3, "flaw at calc.py:5", "qc-model")
    assert said((raised(),), (raised(),)) is None
    assert said((raised(),), (raised(),), (raised(),), (raised("other"),)) is None, "it was mended at last"
    assert said((raised(),), (raised(locus="b.py"),), (raised("other"),)) is None


def test_rejections_that_name_no_place_are_alike() -> None:
    """Whatever their words: nobody can tell what is to be mended. One finding with a place is something to go by."""
    nowhere = [(raised("a", ""),), (raised("review_failed", "feedback"),), (raised("b", "score"),)]
    found = said(*nowhere)
    assert found is not None
    assert (found.times, found.words) == (3, "something that it gives no place to")
    assert said(nowhere[0], nowhere[1], (raised("b", "score"), raised())) is None


def test_what_gates_find_or_does_not_block_is_no_objection() -> None:
    """Those are judged by whether they change (convergence)."""
    check = make_finding("check", "flaw", "calc.py", "It fails.", "")
    mild = make_finding("review", "mild", "calc.py", "Hm.", "", severity="warning")
    assert said(*[(check, mild)] * 4) is None
