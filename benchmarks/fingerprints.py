"""What it costs to read a check's output: seconds and megabytes for outputs of 10 MB, and for a hostile one.

    python -m benchmarks.fingerprints

The bounds are 2 seconds and 50 MB beside the output itself, for what tools print; the last output is made to cost as
much as it can. Seconds are those of the processor; memory is what Python held at most, from another run, because
counting it takes time (for the last output, minutes).
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator

from orchestrator.gates.reading import read_check

MEGABYTES = 10


def pytest_failures() -> str:
    """pytest, some 3,000 tests of which a third fail, each with a long traceback."""
    names = [f"tests/test_module_{number % 97}.py::TestThing::test_{number}" for number in range(1_000)]
    sections = [
        f"____ TestThing.test_{number} ____\n"
        + "    def helper(value):\n>       return compute(value, 3)\n" * 170
        + f"E   AssertionError: assert {number} == 3\n\ntests/test_module_{number % 97}.py:{number}: AssertionError\n"
        for number in range(1_000)
    ]
    summary = "\n".join(f"FAILED {name} - AssertionError: assert 1 == 3" for name in names)
    return "".join(["==== FAILURES ====\n", *sections, "==== short test summary info ====\n", summary])


def pytest_verbose() -> str:
    """pytest --verbose, all of whose tests pass."""
    return "".join(f"tests/test_{n}.py::test_sums[{n}-some-parameter] PASSED [ {n % 100:2}%]\n" for n in range(150_000))


def log_lines() -> str:
    """A program that logs, without a word of any tool."""
    return "".join(
        f"2026-01-02 03:04:{n % 60:02} INFO app.module handled request {n} in 12 ms\n" for n in range(150_000)
    )


def mypy_errors() -> str:
    """A type checker with very many errors."""
    return "".join(
        f"src/app/module_{n % 4000}.py:{n}: error: Name x is not defined  [name-defined]\n" for n in range(150_000)
    )


def all_marks() -> str:
    """Lines that each parser looks at, each another failure: made to cost as much as it can."""
    return "".join(f"a{n}.c:1:1: error: e{n}\n--- FAIL: T{n} (\nnot ok {n} - t{n}\n" for n in range(200_000))


def outputs() -> Iterator[tuple[str, str]]:
    """Each output with its name, of 10 MB."""
    for make in (pytest_failures, pytest_verbose, log_lines, mypy_errors, all_marks):
        text = make()
        yield make.__name__, (text * (1 + MEGABYTES * 1_000_000 // len(text)))[: MEGABYTES * 1_000_000]


def seconds(output: str) -> float:
    """Of the processor."""
    begun = time.process_time()
    read_check("make test", 1, output, "/work/repository")
    return time.process_time() - begun


def megabytes(output: str) -> float:
    """At most held while it is read."""
    tracemalloc.start()
    read_check("make test", 1, output, "/work/repository")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1_000_000


def main() -> None:
    """Print a row for each output."""
    print(f"{'output':<16} {'seconds':>8} {'MB held':>8}")
    for name, output in outputs():
        print(f"{name:<16} {seconds(output):>8.2f} {megabytes(output):>8.1f}", flush=True)


if __name__ == "__main__":
    main()
