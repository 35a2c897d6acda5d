"""The system calls that a command does not have: a classic BPF program, as the kernel takes it.

What it refuses is reached past files and networks of one's own: sockets of other families (vsock leads to a virtual
machine's host), the keys of the user's session, io_uring (which can make sockets past this filter), user namespaces
(in which memory can be hidden, and much of the kernel be called) and large segments of shared memory.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence

_Line = tuple[int, int, int, int]

_LOAD, _EQUAL, _AT_LEAST, _HAS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENT, _SECOND, _SECOND_HIGH = 0, 4, 16, 24, 28
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_X32 = 0x40000000  # an alias of every call of x86-64
_NEW_USER = 0x10000000
_LARGEST_SEGMENT = 65_536  # there are 4,096 at most; a database needs a small one, and no process's count has them
UNIX, IPV4, IPV6, NETLINK = 1, 2, 10, 16

_X86 = """socket 41 io_uring_setup 425 add_key 248 request_key 249 keyctl 250 clone 56 clone3 435 unshare 272
shmget 29 msgget 68 semget 64 mq_open 240"""
_ARM = """socket 198 io_uring_setup 425 add_key 217 request_key 218 keyctl 219 clone 220 clone3 435 unshare 97
shmget 194 msgget 186 semget 190 mq_open 180"""
_MACHINES = {"x86_64": (0xC000003E, _X86), "aarch64": (0xC00000B7, _ARM)}

SHARED_MEMORY = ("shmget", "msgget", "semget", "mq_open")
"""What makes objects of the machine's own where a command has no IPC namespace."""
_REFUSED = ("io_uring_setup", "add_key", "request_key", "keyctl")


def reason_against_filter() -> str:
    """Why no filter can be had on this machine, empty when it can."""
    machine = os.uname().machine
    return "" if machine in _MACHINES else f"its filter of system calls is not written for {machine}"


def seccomp_filter(families: Sequence[int], further: Iterable[str] = ()) -> bytes:
    """The program that refuses sockets of all but these address families and, beside what is always refused, the
    `further` calls; empty where none is written for this machine."""
    machine = os.uname().machine
    if machine not in _MACHINES:
        return b""
    architecture, listed = _MACHINES[machine]
    words = listed.split()
    numbers = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    return b"".join(struct.pack("HBBI", *line) for line in _program(architecture, numbers, families, further))


def _program(
    architecture: int, numbers: Mapping[str, int], families: Sequence[int], further: Iterable[str]
) -> Iterator[_Line]:
    """Each rule is a test that jumps over the answer which follows it."""
    yield (_LOAD, 0, 0, _ARCHITECTURE)
    yield (_EQUAL, 1, 0, architecture)
    yield _refusal(errno.EPERM)
    yield (_LOAD, 0, 0, _NUMBER)
    yield from ((_AT_LEAST, 0, 1, _X32), _refusal(errno.EPERM))
    for name in (*_REFUSED, *further):
        yield from ((_EQUAL, 0, 1, numbers[name]), _refusal(errno.EPERM))
    yield from ((_EQUAL, 0, 1, numbers["clone3"]), _refusal(errno.ENOSYS))  # its flags lie where no filter can look
    for name in ("clone", "unshare"):
        yield from ((_EQUAL, 0, 4, numbers[name]), (_LOAD, 0, 0, _ARGUMENT), (_HAS, 0, 1, _NEW_USER))
        yield from (_refusal(errno.EPERM), (_RETURN, 0, 0, _ALLOW))
    yield from ((_EQUAL, 0, 7, numbers["shmget"]), (_LOAD, 0, 0, _SECOND_HIGH), (_EQUAL, 1, 0, 0))
    yield from (_refusal(errno.ENOMEM), (_LOAD, 0, 0, _SECOND), (_AT_LEAST, 0, 1, _LARGEST_SEGMENT))
    yield from (_refusal(errno.ENOMEM), (_RETURN, 0, 0, _ALLOW))
    yield from ((_EQUAL, 0, 2 + 2 * len(families), numbers["socket"]), (_LOAD, 0, 0, _ARGUMENT))
    for family in families:
        yield from ((_EQUAL, 0, 1, family), (_RETURN, 0, 0, _ALLOW))
    yield _refusal(errno.EACCES)
    yield (_RETURN, 0, 0, _ALLOW)


def _refusal(error: int) -> _Line:
    return (_RETURN, 0, 0, _ERROR | error)
