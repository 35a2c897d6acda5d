"""What a check showed: the failures that its tool told of, and the tests that ran.

A failure is known again by what it is, not by where in an output it stood: the command, the package, the test or rule,
the path, and what went wrong without its noise. So two tests never share one, and the length of an output changes none.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

ALGORITHM = "f2"
"""How fingerprints of failures are made. Those of two algorithms say nothing about each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What can be known again in another run. `fingerprint` is over all other fields; `test_name` is a test, a rule or
    a symbol, `locus` a path from the top level, both empty where the tool tells none; `signature` is the error's class
    and its normalised message."""

    fingerprint: str
    algorithm: str
    command: str
    package: str = ""
    test_name: str = ""
    locus: str = ""
    signature: str = ""

    @property
    def test(self) -> str:
        """Its test's whole name, with the package where the tool tells one, as in TestsSeen."""
        return "::".join(filter(None, (self.package, self.test_name)))

    @classmethod
    def of(
        cls, command: str, *, package: str = "", test_name: str = "", locus: str = "", signature: str = ""
    ) -> Failure:
        """The failure with its fingerprint: `f2:` and 16 hex digits."""
        parts = "\x1f".join((ALGORITHM, command, package, test_name, locus, signature))
        return cls(
            fingerprint=f"{ALGORITHM}:{hashlib.sha256(parts.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}",
            algorithm=ALGORITHM,
            command=command,
            package=package,
            test_name=test_name,
            locus=locus,
            signature=signature,
        )


@dataclass(frozen=True, slots=True)
class ShownFailure:
    """A failure, how often one run of a check showed it, and the part of the output that is about it. That is for the
    finding, and is neither stored with the check nor compared. A `flaky` one was not there when its test was run again
    over the same tree."""

    failure: Failure
    count: int = 1
    excerpt: str = field(default="", compare=False)
    flaky: bool = False


@dataclass(frozen=True, slots=True)
class TestsSeen:
    """The tests that a tool told of, by ids that stay the same from run to run (`tests/test_x.py::test_y`). `unnamed`
    are those that ran and that it only counts; then none has a name."""

    ran: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    unnamed: int = 0

    @property
    def number(self) -> int:
        """How many ran."""
        return len(self.ran) + self.unnamed
