"""Commands that succeed whatever the work is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.planning.exit_status import always_succeeds

ALWAYS = """true
:
/bin/true
exit 0
echo ok
echo 'make && x'
printf ok
FOO=1
FOO=1 true
command true
env -i true
timeout 5 true
eval true
sh -c true
bash -lc 'make || true'
python3 -c pass
python3 -c 'print(1)'
[ 1 = 1 ]
test 1
! false
(true)
{ true; }
true # make
# make
make || true
make || :
make || exit 0
make || echo failed
make || (exit 0)
make || { echo failed; true; }
(make || true)
make 2>/dev/null || true
make > log 2>&1 || true
make &> log || true
make; true
make ; exit 0
make &
true && true
true; exit 0; make
make || exit 0; true
{ exit 0; }; make
set +e; make; exit 0
make | tee log
make 2>&1 | tee log
make -s | tail -5
make | cat""".splitlines()

MAY_FAIL = """make
make -s && echo ok
true && make
false
exit 1
(exit 1)
make || exit 1
make || false
make || exit 1; true
make || { echo failed; exit 1; }; echo ok
cd app || exit; echo ok
make && exit 1; true
! grep -q TODO a
grep -q x a
test -f a
[ -f a ]
[[ -f a ]]
[ $(ls | wc -l) -eq 3 ]
test "$(wc -l < a)" = 3
set -e; make; true
set -o pipefail; make | tee log
if make; then true; else exit 1; fi
make | grep passed
cat a
sort -c a
diff <(make a) <(make b)
cd app && make
bash -c make
python3 -c 'import a'
python3 -c 'assert 1; print(1)'
echo ok; false
git diff --exit-code
' unclosed
&& || ;
)(""".splitlines()


@pytest.mark.parametrize("command", [*ALWAYS, "make\ntrue", "make \\\n || true"])
def test_a_command_that_always_succeeds_is_seen(command: str) -> None:
    """Constants, what stands behind `||` or `;`, and filters at the end of a pipe."""
    assert always_succeeds(command)


@pytest.mark.parametrize("command", [*MAY_FAIL, "set -euo pipefail\nmake | tee log", "cat << END\nx\nEND"])
def test_a_command_that_may_fail_is_none(command: str) -> None:
    """Nor is one that this cannot read."""
    assert not always_succeeds(command)


def test_what_is_said_to_succeed_does(tmp_path: Path) -> None:
    """In a folder where `make` fails, bash leaves every one of them with 0."""
    each = 'for command; do (eval "$command") > /dev/null 2>&1 || echo "$command"; done'
    done = subprocess.run(["bash", "-c", each, "bash", *ALWAYS], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


@given(st.text(alphabet="ab'\"\\()|&;<>!$ \n{}#", max_size=60))
def test_no_text_is_too_odd(command: str) -> None:
    """Every text has an answer."""
    assert always_succeeds(command) in (True, False)
