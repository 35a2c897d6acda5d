"""Which verification a machine can execute."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.planning.commands import executable

BY_HAND = [
    "",
    "  \n",
    "# only a comment",
    "Manual endpoint test (curl or Postman)",
    "Manual code review for type safety",
    "Manual review of README",
    "manual",
    "manual test",
    "Manually check the login page",
    "manually verify",
    "npm start && manually check the login page",
    "Visually check the layout",
    "curl /protected with/without token",
    "npm start, check route accessibility",
    "Open http://localhost:3000 in the browser",
    "open http://localhost:3000",
    "npm run dev and look at it in the browser",
    "npm run dev in a browser",
    "review of README",
    "Review the diff",
    "review README.md for typos",
    "Check that the page loads",
    "check the page",
    "Test the login flow",
    "test the login flow",
    "test login flow",
    "make sure it works",
    "go to the settings page",
    "Use Postman to call /login",
    "Postman",
    "postman",
    "newman and Postman",
    "GET /health returns 200",
    "/health returns 200",
    "200 OK",
    "Security: no plain text passwords",
    "run the tests",
    "verify output matches",
    "npm test then check the logs.",
    "it's fine",
    "All tests pass",
    "N/A",
    "TBD",
    "none",
    "`npm test`",
    "npm test passes",
    "pytest (all green)",
    "./todo add milk and eggs",
    "npm start; open http://localhost:3000",
    "curl localhost:3000/health → 200",
]
COMMANDS = [
    "python -m pytest tests/test_manual.py",
    "make manual",
    "make check",
    "make",
    "npm run manual",
    "npx playwright test --browser chromium",
    "npx playwright test tests/browser",
    "./scripts/check.sh",
    "test -f README.md",
    "test -s README.md -a -r README.md",
    '[ "$(cat x)" = "the answer" ]',
    'grep -q "manual" README.md',
    "grep -q 'Open it in the browser' docs/manual.md",
    "grep the README.md",
    "FOO=1 pytest -q | tee log",
    "cd app && npm test",
    "! grep -r TODO src",
    "pytest -k manually",
    "pytest -m 'not manual and slow'",
    "python -m pytest -q 2>&1 | tail -5",
    "pytest -q > log 2>&1",
    "npx newman run tests/postman_collection.json",
    "postman collection run api.json",
    "docker run postman/newman run x.json",
    "python -c 'import app; assert app.health() == {\"ok\": True}'",
    "go test ./...",
    "go vet ./...",
    "cargo test --workspace",
    "curl -fsS http://localhost:8000/health",
    "curl -o /tmp/x -w '%{http_code}' localhost:8000",
    "for f in *.md; do markdownlint $f; done",
    "if test -f a; then pytest; fi",
    "(cd web; npm ci; npm test)",
    "bash -c 'set -e; make; make test'",
    "python - <<'EOF'\nprint(\"it's the answer, check it\")\nEOF",
    "pytest -q # don't stop here, check the rest",
    "Rscript tests/run.R",
    ". venv/bin/activate && pytest",
    "~/bin/check --all",
    "$PYTHON -m pytest",
    "check --all",
    "docker compose up -d --wait && pytest",
    "mypy --strict app tests",
    "poetry run pytest --with-coverage",
    "poetry install --with dev",
    "git diff --exit-code",
    "python manage.py test app.tests.ViewTests",
    "diff <(sort a) <(sort b)",
    "jq -e .ok out.json",
    "awk -F, '{print $1}' data.csv",
    "cut -d, -f1 a.csv",
    "xvfb-run -a npm test",
    "[[ -f a && -f b ]]",
    "./todo add 'milk and eggs'",
    "R CMD check pkg",
    "time -p pytest",
    "$(npm bin)/jest --ci",
    "npx eslint . --ext .ts,.tsx",
    "python -m http.server 8000 & sleep 1; curl -sf localhost:8000/health | jq -e '.ok == true'",
    "python manage.py check",
    "npx cypress run --browser chrome",
    "bazel test //...",
    "set -e; export A=1; make all",
    "for i in 1 2 3; do ./run $i || exit 1; done",
    "if [ -f x ]; then echo ok; else exit 1; fi",
    "case $x in a) true ;; esac",
    "! command -v foo",
    "test hello = hello",
    "env -u HOME pytest",
    "python -m json.tool < a.json > /dev/null",
    "diff -u expected.txt <(./app --all)",
    "terraform validate",
    "cd web && cd .. && ls",
    "curl -sf http://localhost/api?x=1&y=2",
    "at now -f job.sh",
    "timeout 60 pytest",
    "docker build .",
    "echo all of it is the same",
    "true",
    "find . -name '*.py' -a -type f",
    "test $(wc -l < out.txt) -eq 3",
    "node --test",
    "npx tsc src/auth/routes.ts src/auth/controller.ts",
    "while ! nc -z localhost 80; do sleep 1; done",
    "python3.11 -m unittest discover -s tests",
    "'/opt/my tool/run' --all",
]


@pytest.mark.parametrize("command", BY_HAND)
def test_prose_is_no_command(command: str) -> None:
    """What tells a person to do something is refused with a reason."""
    assert executable(command)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_pass(command: str) -> None:
    """What a shell can execute passes, whatever words its paths, quotes and options hold."""
    assert executable(command) is None


@given(st.text(max_size=200))
def test_any_text_is_judged(command: str) -> None:
    """No text makes the judgement itself fail."""
    assert executable(command) is None or executable(command)


@given(st.lists(st.sampled_from(COMMANDS), min_size=1, max_size=4), st.sampled_from([" && ", "; ", " || ", "\n"]))
def test_joined_commands_pass(commands: list[str], operator: str) -> None:
    """Commands joined by the shell's operators are a command."""
    if any("#" in c or "<<" in c for c in commands):
        operator = "\n"
    assert executable(operator.join(commands)) is None
