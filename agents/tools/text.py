"""Text files as a model sees them: plain line ends and no BOM. What the file has of both is kept when it is changed."""

from __future__ import annotations

import re
from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"
_SNIFF = 8 * 1024


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file's text with its own line ends, and what else is needed to write it back."""

    raw: str
    encoding: str = "utf-8"
    bom: bool = False

    @property
    def crlf(self) -> bool:
        """Whether most lines end in \\r\\n."""
        return self.raw.count("\r\n") * 2 > self.raw.count("\n")

    @property
    def lines(self) -> list[str]:
        """The lines without their ends; a last line without an end counts."""
        lines = self.raw.split("\n")
        return [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]

    def encode(self, raw: str) -> bytes:
        """New content in this file's encoding. Raises UnicodeEncodeError where it cannot hold the text."""
        return (_BOM if self.bom else b"") + raw.encode(self.encoding)

    def find(self, text: str) -> list[re.Match[str]]:
        """Where a text stands, its \\n standing for either line end."""
        if not text:
            return []
        pattern = re.escape(text.replace("\r\n", "\n")).replace("\\\n", "\r?\n")
        return list(re.finditer(pattern, self.raw))

    def with_line_ends(self, text: str, like: str = "") -> str:
        """The text with the line ends of `like`, or of the file where `like` has none."""
        text = text.replace("\r\n", "\n")
        return text.replace("\n", "\r\n") if ("\r\n" in like if "\n" in like else self.crlf) else text


def decode_text(content: bytes) -> TextFile | None:
    """The text, or None for a binary file. What is not UTF-8 but has no NUL is read as Latin-1, byte for byte."""
    if b"\0" in content[:_SNIFF]:
        return None
    bom = content.startswith(_BOM)
    try:
        return TextFile(content[len(_BOM) if bom else 0 :].decode(), bom=bom)
    except UnicodeDecodeError:
        return TextFile(content.decode("latin-1"), encoding="latin-1")
