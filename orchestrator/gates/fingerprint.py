"""Fingerprints of findings: computed by us from code, locus and normalised text, never taken from a model."""

from __future__ import annotations

import hashlib

from orchestrator.domain.normalise import fingerprint_text

_ALGORITHM = "f1"
"""How fingerprints of findings are made; those of failures have a version of their own."""


def fingerprint(code: str, locus: str, text: str = "") -> str:
    """`f1:` and 16 hex digits; equal for messages that differ in dates, durations or line numbers alone."""
    parts = "\x1f".join((_ALGORITHM, code, locus, fingerprint_text(text) if text else ""))
    return f"{_ALGORITHM}:{hashlib.sha256(parts.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
