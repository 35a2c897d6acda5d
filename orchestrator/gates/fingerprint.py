"""Fingerprints of findings: computed by us from code, locus and normalised text, never taken from a model."""

from __future__ import annotations

import hashlib

from orchestrator.domain.normalise import fingerprint_text

ALGORITHM = "f1"


def fingerprint(code: str, locus: str, text: str = "") -> str:
    """`f1:` and 16 hex digits; equal for messages that differ in dates, durations or line numbers alone."""
    parts = "\x1f".join((ALGORITHM, code, locus, fingerprint_text(text) if text else ""))
    return f"{ALGORITHM}:{hashlib.sha256(parts.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
