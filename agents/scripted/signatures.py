"""Values that a provider seals, gives away with a reply, and knows again in a later request."""

from __future__ import annotations

import base64
import hashlib
import hmac

_KEY = b"the scripted model's own"
_SIZE = 32  # bytes of a proof


def sealed(text: str) -> str:
    """The text, unreadable at a glance, with what shows that it was not changed."""
    return base64.urlsafe_b64encode(_proof(text) + text.encode()).decode()


def unsealed(value: object) -> str | None:
    """The text that was sealed; None for anything that `sealed` did not give."""
    try:
        raw = base64.urlsafe_b64decode(str(value).encode())
        text = raw[_SIZE:].decode()
    except ValueError:
        return None
    return text if hmac.compare_digest(raw[:_SIZE], _proof(text)) else None


def _proof(text: str) -> bytes:
    return hmac.digest(_KEY, text.encode(), hashlib.sha256)
