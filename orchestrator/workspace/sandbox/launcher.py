"""Run by path with `python -I`, where there is no bubblewrap: confine a command (Landlock), run it, and leave nothing
of it behind. Standard library only; it shares no code with the rest.

Argument 1 is a descriptor with JSON: argv, environment and folder of the command, marker (descriptor), rules ([path,
writable] pairs, null: unconfined), network (bool), largest_file (bytes), filter (of system calls, in hexadecimal
digits). What is the command's own (its environment, its folder) counts only once it is confined.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 22, 24, 36, 38
CAPABILITIES = 0x20080522  # the newest layout
KEYCTL, CAPSET = {"x86_64": (250, 126), "aarch64": (219, 91)}.get(os.uname().machine, (0, 0))
JOIN_SESSION_KEYRING = 1
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, read a file, list a folder
OF_FILE = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
DEVICES = 1 << 6 | 1 << 11  # make character and block devices: handled, and never allowed
RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
TCP = 3  # bind and connect
SCOPES = 3  # abstract sockets and signals stay inside

libc = ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """The kernel's Landlock version, 0 for none."""
    return max(0, int(libc.syscall(CREATE_RULESET, None, 0, 1)))


def restrict(rules: list[tuple[str, bool]], network: bool, code: bytes) -> None:
    """Confine this process and its children to the rules and the filter. Raises OSError."""
    give_up_rights()
    version = abi()
    handled = RIGHTS[min(version, 5)]
    attributes = struct.pack("QQQ", handled, 0 if network else TCP, SCOPES)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = call(CREATE_RULESET, attributes[:size], size, 0)
    for path, writable in rules:
        allow(ruleset, path, handled & ~DEVICES if writable else handled & READ)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    call(RESTRICT_SELF, ruleset, 0)
    filter_calls(code)


def give_up_rights() -> None:
    """Leave the session's keyring, and what root may do beyond its own files: with an empty bounding set no program
    brings that back."""
    with suppress(OSError):  # a kernel without keys
        call(KEYCTL, JOIN_SESSION_KEYRING, None)
    for capability in range(64):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    call(CAPSET, struct.pack("Ii", CAPABILITIES, 0), bytes(24))


def allow(ruleset: int, path: str, rights: int) -> None:
    """Allow what is at and below a path; one that is not there needs no rule."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    rights = rights if Path(path).is_dir() else rights & OF_FILE
    call(ADD_RULE, ruleset, 1, struct.pack("=Qi", rights, descriptor), 0)
    os.close(descriptor)


def filter_calls(code: bytes) -> None:
    """Put the filter of system calls over this process and its children. Raises OSError."""
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(buffer))
    if libc.prctl(PR_SET_SECCOMP, 2, program, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def call(number: int, *arguments: Any) -> int:
    """A system call that libc has no name for. Raises OSError."""
    result = int(libc.syscall(number, *arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def children() -> list[int]:
    """The processes whose parent is this one; orphans of the tree come here, since we are their reaper."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if (
                folder.name.isdigit()
                and int((folder / "stat").read_bytes().rpartition(b")")[2].split()[1]) == os.getpid()
            ):
                found.append(int(folder.name))
        except (OSError, ValueError, IndexError):
            continue
    return found


def sweep() -> None:
    """End all that is left, generation by generation, until there is none (Linux: elsewhere orphans go elsewhere)."""
    while left := children():
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        reap()
        time.sleep(0.002)


def reap() -> None:
    """Collect the dead."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def start(task: dict[str, Any]) -> int:
    """The confined child's id."""
    child = os.fork()
    if child:
        return child
    try:
        os.setpgid(0, 0)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        if sys.platform == "linux":
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if task["rules"] is not None:
            restrict(task["rules"], task["network"], bytes.fromhex(task["filter"]))
        with suppress(ValueError):  # it may not be more than the user's own
            resource.setrlimit(resource.RLIMIT_FSIZE, (task["largest_file"],) * 2)
        os.chdir(task["folder"])
        os.write(task["marker"], b".")
        os.close(task["marker"])
        os.execve(task["argv"][0], task["argv"], task["environment"])  # noqa: S606 - a shell already
    except BaseException as error:
        os.write(2, f"launcher: {error}\n".encode())
        os._exit(126)


def end_all(child: int) -> None:
    """End the child's process group in one stroke, which no fork can outrun, and then what left the group."""
    with suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    if sys.platform == "linux":
        sweep()


def launch_confined() -> int:
    """Run to the end; exits as a shell would: 128 + n for signal n."""
    with open(int(sys.argv[1]), "rb") as told:  # noqa: PTH123 - a descriptor, which is closed here
        task = json.load(told)
    if sys.platform == "linux":
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    # held back until the handler stands: between the fork and that, our death would leave the child's orphans behind
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    child = start(task)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    os.close(task["marker"])
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        _, status = os.waitpid(child, 0)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        end_all(child)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(launch_confined())
