"""The named peer of benchmarks/step_overhead.py: the least that an agent loop on the plain openai client can be.

It stores nothing and judges nothing: ask, append the reply, run the tool, append its result. The model is the scripted
one, without latency, in a process of its own: `python benchmarks/bare_loop.py [STEPS]` starts it and prints the figure.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai

ROOT = Path(__file__).resolve().parent.parent
FILE_TEXT = "x" * 199 + "\n"
WRITE_FILE: Any = {
    "type": "function",
    "function": {
        "name": "write_file",
        "description": "Create or replace a file.",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "file_text": {"type": "string"}},
            "required": ["path", "file_text"],
        },
    },
}


def script(steps: int) -> dict[str, Any]:
    """A scripted conversation of so many write_file calls of 200 bytes, then finish_task."""
    calls = [{"call": ["write_file", {"path": f"out/{n % 10}.txt", "file_text": FILE_TEXT}]} for n in range(steps)]
    return {"conversations": [{"replies": calls, "then": "finish"}]}


@contextmanager
def model_process(scripted: dict[str, Any]) -> Iterator[str]:
    """The scripted model in a process of its own; yields its base URL."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "script.json")
        file.write_text(json.dumps(scripted), encoding="utf-8")
        command = [sys.executable, "-m", "agents.scripted.server", str(file)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as server:
            assert server.stdout is not None
            try:
                yield server.stdout.readline().strip()
            finally:
                server.terminate()


def bare_loop(base_url: str, steps: int) -> float:
    """Seconds that `steps` steps take, each one model call and one write_file, in a folder that is thrown away."""
    client = openai.OpenAI(base_url=base_url, api_key="none", max_retries=0)
    messages: list[Any] = [
        {"role": "system", "content": "You are a worker."},
        {"role": "user", "content": f"Write files, {steps} times."},
    ]
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        for _ in range(steps):
            reply = client.chat.completions.create(model="scripted", messages=messages, tools=[WRITE_FILE])
            message = reply.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            for call in message.tool_calls or ():
                result = _write_file(Path(folder), call)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        return time.perf_counter() - started


def _write_file(folder: Path, call: Any) -> str:
    arguments = json.loads(call.function.arguments)
    target = folder / arguments["path"]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(arguments["file_text"], encoding="utf-8")
    return f"Wrote {len(arguments['file_text'])} characters to {arguments['path']}."


def main() -> None:
    """Print the time per step."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with model_process(script(steps)) as base_url:
        seconds = bare_loop(base_url, steps)
    print(f"bare loop: {steps} steps, {seconds:.2f} s, {seconds / steps * 1000:.1f} ms a step")


if __name__ == "__main__":
    main()
