"""What a task remembers of a finding that was mended."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A finding that a check pass has shown to be gone (`verified_by`, over `tree`), and a file that the attempt which
    mended it has changed: its content before and after as blob ids, empty for a file that was not there. `found_by`
    says who finds it: "" for the gates, `review`, `merge` or a command."""

    code: str
    locus: str
    fingerprint: str
    path: str
    blob_before: str
    blob_after: str
    verified_by: str
    tree: str
    found_by: str
    attempt: int
