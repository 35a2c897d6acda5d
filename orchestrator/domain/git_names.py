"""Names that a file system could take for `.git`."""

from __future__ import annotations

_UNSEEN = dict.fromkeys((*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF))


def is_git_name(name: str) -> bool:
    """Whether a file system could take this name for `.git`: other case, trailing dots and spaces, NTFS's short name
    and streams, and the characters that HFS+ does not see (git's own verify_path refuses the same)."""
    stem = name.translate(_UNSEEN).replace("\\", ":").split(":", 1)[0].rstrip(" .").lower()
    return stem in (".git", "git~1")
