"""What hostile commands try against the machine. Each prints GOT where it succeeds."""

from __future__ import annotations

_PYTHON = "/usr/bin/python3 - <<'END'\nimport ctypes, os, socket\n{code}\nprint('GOT')\nEND"
_CALL = "libc = ctypes.CDLL(None, use_errno=True)\nassert libc.syscall({}) >= 0"


def _python(code: str) -> str:
    return _PYTHON.format(code=code)


def _call(*numbers: str) -> str:
    """A system call, by its number on x86-64 and on arm64."""
    arguments = "{'x86_64': NUMBERS[0], 'aarch64': NUMBERS[1]}[os.uname().machine]".replace("NUMBERS", str(numbers[:2]))
    return _python(_CALL.format(f"int({arguments}){''.join(f', {each}' for each in numbers[2:])}"))


ATTACKS = {
    "the kernel's settings are written": "for file in kernel/core_pattern vm/swappiness kernel/modprobe; do"
    " cat /proc/sys/$file > $TMPDIR/value && cat $TMPDIR/value > /proc/sys/$file && echo GOT; done",
    "what is root's alone is read": "cat /etc/shadow /etc/gshadow /etc/ssl/private/* /etc/ssh/*_key && echo GOT",
    "the keys of the session are listed": _call("250", "219", "11", "-3", "None", "0"),
    "a key is added": _call("248", "217", "b'user'", "b'x'", "b'x'", "1", "-3"),
    "a key is asked for": _call("249", "218", "b'user'", "b'x'", "None", "-3"),
    "the hypervisor is spoken to": _python("socket.socket(40, socket.SOCK_STREAM)"),
    "the kernel's ciphers are used": _python("socket.socket(38, socket.SOCK_SEQPACKET)"),
    "a ring that makes sockets is set up": _call("425", "425", "1", "ctypes.create_string_buffer(120)"),
    "a user namespace is made": "unshare -Ur true && echo GOT",
    "a user namespace is made by clone": _call("56", "220", "0x10000000 | 17", "0", "0", "0", "0"),
    "a user namespace is made by clone3": _call("435", "435", "ctypes.create_string_buffer(88)", "88"),
    "memory that no process maps is taken": _call("29", "194", "0", "500_000_000", "0o1600")
    + "\n"
    + _call("29", "194", "0", "ctypes.c_size_t(1 << 40)", "0o1600"),
    "a file larger than any disk is made": "truncate -s 1T huge && echo GOT; rm -f huge",
    "something is mounted": "mount -t tmpfs none /mnt && echo GOT",
    "root's capabilities are left": "grep -E 'Cap(Eff|Prm|Bnd).*[1-9a-f]' /proc/self/status && test $(id -u) = 0"
    " && echo GOT",
    "a device is made": "mknod null c 1 3 && echo GOT; mknod disk b 254 0 && echo GOT",
    "the folders of other people are listed": "ls -A /srv/* /mnt/* /media/* /var/log /var/spool 2>/dev/null | grep . "
    "&& echo GOT",
}

ON_THE_HOST = {
    "memory that outlives the run": _call("29", "194", "0", "4096", "0o1600"),
    "a queue that outlives the run": _call("68", "186", "0", "0o1600"),
    "semaphores that outlive the run": _call("64", "190", "0", "1", "0o1600"),
    "a named queue": _call("240", "180", "b'orchestrate'", "0o102", "0o600", "None"),
}
"""What leads to the machine where a command has no IPC namespace of its own."""
