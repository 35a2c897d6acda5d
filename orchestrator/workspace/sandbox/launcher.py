"""Run by path with `python -I`, where there is no bubblewrap: confine a command (Landlock), run it, and leave nothing
of it behind. Standard library only; it shares no code with the rest.

Argument 1 is JSON: argv, marker (descriptor), rules ([path, writable] pairs, null: unconfined), network (bool).
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 22, 36, 38
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, read a file, list a folder
OF_FILE = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
TCP = 3  # bind and connect
SCOPES = 3  # abstract sockets and signals stay inside
SYSCALLS = {"x86_64": (0xC000003E, 41, 425), "aarch64": (0xC00000B7, 198, 425)}  # audit arch, socket, io_uring_setup

libc = ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """The kernel's Landlock version, 0 for none."""
    return max(0, int(libc.syscall(CREATE_RULESET, None, 0, 1)))


def restrict(rules: list[tuple[str, bool]], network: bool) -> None:
    """Confine this process and its children to the rules. Raises OSError."""
    version = abi()
    handled = RIGHTS[min(version, 5)]
    attributes = struct.pack("QQQ", handled, 0 if network else TCP, SCOPES)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = call(CREATE_RULESET, attributes[:size], size, 0)
    for path, writable in rules:
        allow(ruleset, path, handled if writable else handled & READ)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    call(RESTRICT_SELF, ruleset, 0)
    refuse_sockets(network)


def allow(ruleset: int, path: str, rights: int) -> None:
    """Allow what is at and below a path; one that is not there needs no rule."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    rights = rights if Path(path).is_dir() else rights & OF_FILE
    call(ADD_RULE, ruleset, 1, struct.pack("=Qi", rights, descriptor), 0)
    os.close(descriptor)


def refuse_sockets(network: bool) -> None:
    """A seccomp filter over socket(): Landlock knows neither UDP nor the Unix sockets of daemons that would act for us
    (docker, D-Bus). io_uring, which can make sockets past it, is off."""
    architecture, socket, io_uring = SYSCALLS[os.uname().machine]
    families = [16, *([2, 10] if network else [])]  # netlink; IPv4, IPv6
    program = [
        (0x20, 0, 0, 4),  # load the architecture
        (0x15, 0, len(families) + 7, architecture),
        (0x20, 0, 0, 0),  # load the system call's number
        (0x35, len(families) + 5, 0, 0x40000000),  # x32, an alias of them all
        (0x15, len(families) + 4, 0, io_uring),
        (0x15, 0, len(families) + 2, socket),
        (0x20, 0, 0, 16),  # load the address family
        *((0x15, len(families) - index, 0, family) for index, family in enumerate(families)),
        (0x05, 0, 0, 1),
        (0x06, 0, 0, 0x7FFF0000),  # allow
        (0x06, 0, 0, 0x00050000 | 13),  # EACCES
    ]
    code = b"".join(struct.pack("HBBI", *line) for line in program)
    buffer = ctypes.create_string_buffer(code)
    filter_ = struct.pack("HxxxxxxQ", len(program), ctypes.addressof(buffer))
    if libc.prctl(PR_SET_SECCOMP, 2, filter_, 0, 0) != 0:
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
            restrict(task["rules"], task["network"])
        os.write(task["marker"], b".")
        os.close(task["marker"])
        os.execv(task["argv"][0], task["argv"])  # noqa: S606 - the argument list is a shell already
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
    task = json.loads(sys.argv[1])
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
