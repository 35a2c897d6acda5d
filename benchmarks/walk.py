"""How hard the house is to read: what one attempt walks through, and what can be counted of the code as it stands.

The walk is the demo's first accepted attempt (task `median`, attempt 1), executed by the real command line over a real
embedded graph with the demo's scripted model. From the entry of the attempt to its return a profiler hook notes, in the
attempt's thread, the file of every call that enters a function of ours:

- a file is entered when a function in it is called, or a generator of it is asked for its next value; lambdas and
  comprehensions are read where they stand and count with what is around them;
- a switch is a call in another file than the call of ours before it. Switches between engine files are counted over
  the calls into `orchestrator/engine/` alone: what is called between two of them is left out.

Switches vary by one or two in a hundred from run to run: what waits for a process looks as often as it has to.

Run: `python -m benchmarks.walk` (a quarter of a minute), with `--places` for where the names, constructions and lengths
are that the table counts. Leaves with 1 when a goal is missed.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from agents.scripted.server import serve
from orchestrator.cli import run
from orchestrator.demo import make_sample, plan, script
from tests.house import measures
from tests.stories.story import clean_environment

ENTRIES = (
    ("orchestrator/engine/attempt/run_attempt.py", "run_attempt"),
    ("orchestrator/engine/attempt/run_attempt.py", "Attempt.execute"),
)
"""Where an attempt begins: the first of these that is there."""

TASK = "median"
LINES = 22_745  # 800 fewer than there were before the house was put in order
ENGINE = "orchestrator/engine/"
READ_WHERE_THEY_STAND = frozenset({"<lambda>", "<listcomp>", "<setcomp>", "<dictcomp>", "<module>"})
OURS = tuple(f"{measures.ROOT / package}{os.sep}" for package in measures.PACKAGES)


@dataclass
class Walk:
    """The files that one attempt's calls enter, in order. `hook` is for threading.setprofile."""

    entry: tuple[str, str]
    entered: list[str] = field(default_factory=list)
    _thread: int | None = None
    _attempt: FrameType | None = None

    def hook(self, frame: FrameType, event: str, _argument: Any) -> None:
        """What Python calls at every call and return of a thread."""
        if event == "call":
            self._called(frame)
        elif event == "return" and frame is self._attempt:
            self._attempt = None

    def _called(self, frame: FrameType) -> None:
        if self._thread is None and (_file(frame.f_code), frame.f_code.co_qualname) == self.entry:
            self._thread, self._attempt = threading.get_ident(), frame
        if self._attempt is not None and self._thread == threading.get_ident() and _counts(frame.f_code):
            self.entered.append(_file(frame.f_code))

    @property
    def engine(self) -> list[str]:
        """The engine's files alone."""
        return [file for file in self.entered if file.startswith(ENGINE)]


@dataclass(frozen=True)
class Figure:
    """One line of the table. A goal is met at or below it; None: there is none."""

    name: str
    value: int
    goal: int | None

    @property
    def missed(self) -> bool:
        """Whether it is above its goal."""
        return self.goal is not None and self.value > self.goal


def _file(code: CodeType) -> str:
    """The file that code is in, relative to the root; empty where it is not ours."""
    path = code.co_filename
    return str(Path(path).relative_to(measures.ROOT)) if path.startswith(OURS) else ""


def _counts(code: CodeType) -> bool:
    return code.co_filename.startswith(OURS) and code.co_name not in READ_WHERE_THEY_STAND


def switches(files: Sequence[str]) -> int:
    """How often a reader who follows the calls has to open another file."""
    return sum(before != after for before, after in pairwise(files))


def happy_attempt() -> Walk:
    """Plan the demo, and walk its first task."""
    walk = Walk(next(entry for entry in ENTRIES if (measures.ROOT / entry[0]).is_file()))
    with _sample() as folder:
        _orchestrate(folder, "plan", plan()["goal"])
        threading.setprofile(walk.hook)
        try:
            _orchestrate(folder, "execute", "--task", TASK, "--parallel", "1", "--sandbox", "none")
        finally:
            threading.setprofile(None)
    if not walk.entered:
        sys.exit(f"No attempt began at {walk.entry[1]} of {walk.entry[0]}: correct ENTRIES.")
    return walk


@contextlib.contextmanager
def _sample() -> Iterator[Path]:
    """The demo's repository, its model and an environment that knows both; all gone afterwards."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder, serve(script()) as model:
        sample = Path(folder) / "sample"
        make_sample(sample)
        os.environ.clear()
        os.environ.update(clean_environment(OPENAI_BASE_URL=model.base_url, ORCHESTRATE_MODEL="scripted"))
        try:
            yield sample
        finally:
            _orchestrate(sample, "graph", "down")
            os.environ.clear()
            os.environ.update(before)


def _orchestrate(folder: Path, *arguments: str) -> None:
    """Run a command in this process; it must succeed."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = run(["-C", str(folder), *arguments])
    if code != 0:
        sys.exit(f"orchestrate {arguments[0]} left with {code}\n{out.getvalue()}{err.getvalue()}")


def walked(walk: Walk) -> list[Figure]:
    """What the attempt walked through."""
    return [
        Figure("happy attempt: engine files entered", len(set(walk.engine)), 12),
        Figure("happy attempt: switches between engine files", switches(walk.engine), 120),
        Figure("happy attempt: files entered", len(set(walk.entered)), 85),
        Figure("happy attempt: switches from file to file", switches(walk.entered), None),
    ]


def counted(code: Sequence[measures.Module]) -> list[Figure]:
    """What the code is like."""
    median, ninth, greatest = measures.spread(measures.function_lengths(code))
    return [
        Figure("names with two homes", len(measures.shared_names(code)), 0),
        Figure("constructions with more than five positional arguments", len(measures.long_constructions(code)), 0),
        Figure("`# fmt: skip`", len(measures.format_skips(code)), 0),
        Figure("lines of orchestrator and agents", sum(module.line_count for module in code), LINES),
        Figure("lines of a function, median", median, 6),
        Figure("lines of a function, 90th percentile", ninth, 15),
        Figure("lines of a function, greatest", greatest, measures.LONGEST_FUNCTION),
        Figure("functions above 40 lines", len(measures.long_functions(code)), 0),
        Figure("files above 300 lines", len(measures.long_files(code)), 0),
    ]


def places(code: Sequence[measures.Module]) -> list[str]:
    """Where what the table counts is, one a line."""
    shared = [f"{name}: {', '.join(files)}" for name, files in measures.shared_names(code).items()]
    skips, long = measures.format_skips(code), [*measures.long_functions(code), *measures.long_files(code)]
    return [*shared, *measures.long_constructions(code), *skips, *long]


def main() -> int:
    """Print the table; 1 when a goal is missed."""
    code = measures.modules()
    figures = [*walked(happy_attempt()), *counted(code)]
    print(f"| {'measure':<54} | {'now':>6} | goal, at most |")
    print(f"| {'-' * 54} | {'-' * 5}: | ------------: |")
    for figure in figures:
        goal = "" if figure.goal is None else str(figure.goal)
        print(f"| {figure.name:<54} | {figure.value:>6} | {goal:>13} |")
    if "--places" in sys.argv[1:]:
        print("", *places(code), sep="\n")
    return int(any(figure.missed for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
