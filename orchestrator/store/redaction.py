"""Nothing stored is silently cut, and no secret that the settings know is stored."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

LIMIT = 16 * 1024
"""Bytes of UTF-8 above which a text is stored as head and tail."""

_PART = 8_000


class Redaction:
    """Cuts and restores long texts. The whole of a cut text is a file of the artefact folder named by its SHA-256."""

    def __init__(self, artefacts: Path, redact: Callable[[str], str]) -> None:
        self._artefacts = artefacts
        self._redact = redact

    def fit(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """The properties as they are stored: redacted, and long texts as head and tail with `...Chars` and
        `...Sha256`. Ids are left alone."""
        fitted: dict[str, Any] = {}
        for key, value in properties.items():
            clean = value if key == "id" else self.clean(value)
            if isinstance(clean, str) and len(clean) > LIMIT // 4 and len(clean.encode()) > LIMIT:
                fitted |= self._cut(key, clean)
            else:
                fitted[key] = clean
        return fitted

    def clean(self, value: Any) -> Any:
        """The value with known secrets replaced and made encodable, in lists and maps too."""
        if isinstance(value, str):
            return self._redact(encodable(value))
        if isinstance(value, Mapping):
            return {key: self.clean(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.clean(item) for item in value]
        return value

    def whole(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """The properties with cut texts restored from the artefact folder, where it still has them."""
        restored = dict(properties)
        for key, digest in properties.items():
            if key.endswith("Sha256") and isinstance(digest, str):
                path = self._path(digest)
                if path.is_file():
                    restored[key.removesuffix("Sha256")] = path.read_bytes().decode()
        return restored

    def _cut(self, key: str, text: str) -> dict[str, Any]:
        encoded = text.encode()
        digest = hashlib.sha256(encoded).hexdigest()
        self._keep(self._path(digest), encoded)
        head, tail = encoded[:_PART].decode(errors="ignore"), encoded[-_PART:].decode(errors="ignore")
        left_out = len(text) - len(head) - len(tail)
        cut = f"{head}\n[... {left_out} characters left out; the whole is artefact {digest} ...]\n{tail}"
        return {key: cut, f"{key}Chars": len(text), f"{key}Sha256": digest}

    def _keep(self, path: Path, content: bytes) -> None:
        if path.is_file():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f"{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
        fresh.write_bytes(content)
        fresh.replace(path)

    def _path(self, digest: str) -> Path:
        return self._artefacts / digest[:2] / f"{digest}.txt"


def encodable(text: str) -> str:
    """The text with lone surrogates, which a model's JSON can hold and UTF-8 cannot, as question marks."""
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")
