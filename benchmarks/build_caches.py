"""What build caches give: a command's time in the sandbox beside that on the bare host, in a Go, a Rust and a Node
repository.

The same check is run twice in a checkout on the host, and in an attempt's workspace; then, after the caches of a check
pass were kept as those of accepted work, once in another attempt's workspace, whose files are all new. Printed are
seconds, and the ratio of second commands (bar: 2). A toolchain that is not there is left out, and said to be. Run it
with `python -m benchmarks.build_caches`, or with `Go`, `Rust` or `Node` behind it; crates and TypeScript are fetched
from their registries first.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from orchestrator.config.settings import Settings
from orchestrator.workspace.repository import discover
from orchestrator.workspace.workspaces import ShadowWorkspaces, open_workspaces
from orchestrator.workspace.worktree import Worktree
from tests.support.repositories import commit, make_repository

BAR = 2
PATIENT = {"sandbox": {"idle_timeout_s": 3_000, "command_timeout_s": 3_000}}


@dataclass(frozen=True, slots=True)
class Project:
    """A repository of one language: the program that it needs, how its packages are fetched, its check, its files."""

    program: str
    fetch: str
    check: str
    files: Mapping[str, str]


GO_MAIN = """package main

import (
\t"encoding/json"
\t"net/http"
)

// Answer is what is said.
func Answer(question string) string {
\tsaid, _ := json.Marshal(map[string]string{"question": question})
\treturn string(said)
}

func main() {
\thttp.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(Answer(r.URL.Path))) })
\t_ = http.ListenAndServe("127.0.0.1:0", nil)
}
"""
GO_TEST = """package main

import "testing"

func TestAnswer(t *testing.T) {
\tif Answer("x") == "" {
\t\tt.Fatal("nothing")
\t}
}
"""
RUST_LIB = """pub fn lines(text: &str) -> String {
    itoa::Buffer::new().format(memchr::memchr_iter(b'\\n', text.as_bytes()).count()).to_string()
}

#[test]
fn counts() { assert_eq!(lines("one\\ntwo\\n"), "2"); }
"""
CARGO = '[package]\nname = "tiny"\nversion = "0.1.0"\nedition = "2021"\n'
PROJECTS = {
    "Go": Project(
        "go",
        "true",
        "go vet ./... && go test ./...",
        {"go.mod": "module example.org/tiny\n\ngo 1.21\n", "main.go": GO_MAIN, "main_test.go": GO_TEST},
    ),
    "Rust": Project(
        "cargo",
        "cargo fetch",
        "cargo test --offline",
        {
            "Cargo.toml": CARGO + '[dependencies]\nitoa = "1"\nmemchr = "2"\n',
            "src/lib.rs": RUST_LIB,
            ".gitignore": "target/\n",
        },
    ),
    "Node": Project(
        "npm",
        "npm install --no-audit --no-fund typescript@5",
        "npx tsc --noEmit -p . && node --test",
        {
            "package.json": '{"name": "tiny", "version": "1.0.0", "private": true}\n',
            "tsconfig.json": '{"compilerOptions": {"strict": true, "lib": ["es2022", "dom"]}, "include": ["src"]}\n',
            "src/answer.ts": "export const answer = (question: string): number => question.length;\n",
            "answer.test.js": "require('node:test')('counts', () => {});\n",
            ".gitignore": "node_modules/\n",
        },
    ),
}


def measured(name: str, folder: Path) -> dict[str, float]:
    """Seconds of each command, and the ratio of the second ones."""
    project = PROJECTS[name]
    repository = make_repository(folder / name)
    commit(repository, dict(project.files))
    subprocess.run(["bash", "-c", project.fetch], cwd=repository, check=True, capture_output=True)
    commit(repository, {})
    found = discover(repository, os.environ)
    workspaces = open_workspaces(found, found.home, Settings.model_validate(PATIENT))
    attempt = _opened(workspaces, "p1:a:1")
    first, second = (_sandboxed(attempt, project.check) for _ in range(2))
    checks = _opened(workspaces, "p1:a:1:pass1")
    _sandboxed(checks, project.check)
    checks.keep_caches()
    after = _sandboxed(_opened(workspaces, "p1:b:1"), project.check)
    bare = [_bare(repository, project.check) for _ in range(2)][1]
    figures = {"host, second": bare, "first": first, "second": second, "another attempt's first": after}
    return {what: round(took, 2) for what, took in figures.items()} | {
        f"second / host (bar: {BAR})": round(second / bare, 2)
    }


def _opened(workspaces: ShadowWorkspaces, name: str) -> Worktree:
    head = workspaces.resolve("HEAD")
    return workspaces.open(name, head, head=head, plan_id="p1")


def _sandboxed(workspace: Worktree, command: str) -> float:
    began = time.perf_counter()
    result = workspace.run(command)
    took = time.perf_counter() - began
    assert result.exit_code == 0, result
    return took


def _bare(repository: Path, command: str) -> float:
    began = time.perf_counter()
    subprocess.run(["bash", "-c", command], cwd=repository, check=True, capture_output=True)
    return time.perf_counter() - began


def main() -> None:
    """Measure what is here, or of that what is named, and print it."""
    for name, project in PROJECTS.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        if not shutil.which(project.program):
            print(f"{name}: not measured, {project.program} is not installed")
            continue
        with tempfile.TemporaryDirectory() as folder:
            print(yaml.safe_dump({name: measured(name, Path(folder))}, sort_keys=False), end="", flush=True)


if __name__ == "__main__":
    main()
