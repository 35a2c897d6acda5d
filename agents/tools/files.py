"""The file tools. The workspace confines every path; these know lines, encodings and what helps after a miss.

A model sees plain line ends and no BOM; what a file has of both is kept when it is changed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, Field

from agents.tools.port import Arguments, ToolEnv, ToolOutput
from agents.transcript import cut
from orchestrator.domain.errors import PathRefusedError, ToolError
from orchestrator.domain.text import closest, counted

_BOM = b"\xef\xbb\xbf"
_SNIFF = 8 * 1024
_MOST_SHOWN = 400_000  # characters of one file; beyond, a view_range says which
_MOST_LISTED = 2_000
_NUMBERED = re.compile(r"^ *\d+\t", re.MULTILINE)


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


class ReadFile(Arguments):
    """Read a text file, each line after its number and a tab, or list a folder."""

    path: str = Field(min_length=1)
    """From the repository's top level."""
    view_range: Annotated[list[int], Field(min_length=2, max_length=2)] | None = None
    """First and last line, from 1; -1 as last means the end of the file."""


def read_file(env: ToolEnv, arguments: ReadFile) -> ToolOutput:
    """The file's lines with their numbers; a folder's listing; what a binary or empty file is."""
    try:
        content = env.workspace.read(arguments.path)
    except PathRefusedError:
        raise
    except ToolError as error:
        return _not_a_file(env, arguments.path, error)
    file = decode_text(content)
    if file is None:
        return ToolOutput(f"{arguments.path} is a binary file of {len(content)} bytes; it cannot be shown.")
    if not content:
        return ToolOutput(f"{arguments.path} is empty (0 bytes).")
    first, last = _range(arguments, len(file.lines))
    numbered = "\n".join(f"{n:>6}\t{line}" for n, line in enumerate(file.lines[first - 1 : last], first))
    more = "\n[too long to be shown whole: ask for a view_range]" if len(numbered) > _MOST_SHOWN else ""
    return ToolOutput(f"{arguments.path}, {_kind(file, first, last)}:\n{cut(numbered, _MOST_SHOWN)}{more}")


def _range(arguments: ReadFile, count: int) -> tuple[int, int]:
    first, last = arguments.view_range or (1, -1)
    if first < 1 or last < -1 or last == 0 or (last != -1 and last < first):
        raise ToolError(f"view_range [{first}, {last}] is no range of lines: the first line is 1, -1 is the end.")
    if first > count:
        raise ToolError(f"view_range starts at line {first}, but {arguments.path} has {count} lines.")
    return first, count if last == -1 else min(last, count)


def _kind(file: TextFile, first: int, last: int) -> str:
    count = len(file.lines)
    shown = f"{count} lines" if (first, last) == (1, count) else f"lines {first} to {last} of {count}"
    odd = [
        "CRLF line ends (shown and edited as \\n)" if file.crlf else "",
        "not UTF-8, read as Latin-1" if file.encoding != "utf-8" else "",
        "" if file.raw.endswith("\n") else "no line end after the last line",
    ]
    return ", ".join([shown, *filter(None, odd)])


def _not_a_file(env: ToolEnv, path: str, error: ToolError) -> ToolOutput:
    """A folder's listing, or the error with the names that come nearest."""
    listing = env.workspace.files(path)
    if listing:
        return ToolOutput(f"{path} is a folder:\n{_listed(listing)}")
    files = env.workspace.files()
    names = {file: PurePosixPath(file).name for file in files}
    near = closest(PurePosixPath(path).name, sorted(set(names.values())), most=3)
    similar = [file for file in files if names[file] in near][:3]
    raise ToolError(f"{error} Similar names: {', '.join(similar)}." if similar else str(error))


class ListFiles(Arguments):
    """List the repository's files: tracked ones and new ones that are not ignored."""

    path: Annotated[str, AfterValidator(lambda path: path or ".")] = "."
    """A folder, from the repository's top level."""
    glob: str | None = None
    """Only files that match, such as **/*.py."""


def list_files(env: ToolEnv, arguments: ListFiles) -> ToolOutput:
    """The paths, one a line."""
    files = env.workspace.files(arguments.path, arguments.glob)
    where = f"{arguments.path} that match {arguments.glob}" if arguments.glob else arguments.path
    return ToolOutput(_listed(files) if files else f"There are no files under {where}.")


def _listed(files: tuple[str, ...]) -> str:
    more = f"\n[{len(files) - _MOST_LISTED} more; narrow with path or glob]" if len(files) > _MOST_LISTED else ""
    return "\n".join(files[:_MOST_LISTED]) + more


class WriteFile(Arguments):
    """Create a file, or replace all of its content. Missing folders are made."""

    path: str = Field(min_length=1)
    """From the repository's top level."""
    file_text: str
    """The whole new content."""


def write_file(env: ToolEnv, arguments: WriteFile) -> ToolOutput:
    """Write it; an existing file keeps its line ends and BOM."""
    old = _existing(env, arguments.path)
    text = arguments.file_text
    if old is None:
        content = text.encode()
    else:
        kept = TextFile("", bom=old.bom)
        content = kept.encode(old.with_line_ends(text) if old.crlf else text)
    env.workspace.write(arguments.path, content)
    done = "Created" if old is None else "Replaced"
    return ToolOutput(f"{done} {arguments.path}: {len(TextFile(text).lines)} lines, {len(content)} bytes.")


def _existing(env: ToolEnv, path: str) -> TextFile | None:
    try:
        return decode_text(env.workspace.read(path)) or TextFile("")
    except PathRefusedError:
        raise
    except ToolError:
        return None  # missing; a folder or a device is refused by the write itself


class EditFile(Arguments):
    """Replace one passage of a file. old_str must be exactly what the file holds, without read_file's line numbers,
    and must occur once."""

    path: str = Field(min_length=1)
    """From the repository's top level."""
    old_str: str = Field(min_length=1)
    """The passage as it is, with enough lines around it to occur once."""
    new_str: str
    """What takes its place; empty to delete it."""


def edit_file(env: ToolEnv, arguments: EditFile) -> ToolOutput:
    """Replace the one match; anything but one is an error that says where to look."""
    content = env.workspace.read(arguments.path)
    file = decode_text(content)
    if file is None:
        raise ToolError(f"{arguments.path} is a binary file of {len(content)} bytes; it cannot be edited.")
    if arguments.old_str == arguments.new_str:
        raise ToolError("old_str and new_str are equal: nothing would change.")
    match = _only_match(file, arguments)
    new = file.with_line_ends(arguments.new_str, like=match.group())
    raw = file.raw[: match.start()] + new + file.raw[match.end() :]
    try:
        env.workspace.write(arguments.path, file.encode(raw))
    except UnicodeEncodeError:
        raise ToolError(f"{arguments.path} is not UTF-8 but {file.encoding}, which cannot hold new_str.") from None
    first = file.raw.count("\n", 0, match.start()) + 1
    return ToolOutput(
        f"Edited {arguments.path} at line {first}: {_count(match.group())} replaced by {_count(new)}; "
        f"the file has {len(TextFile(raw).lines)} lines now."
    )


def _count(text: str) -> str:
    return counted(len(TextFile(text).lines), "line")


def _only_match(file: TextFile, arguments: EditFile) -> re.Match[str]:
    matches = file.find(arguments.old_str)
    if len(matches) == 1:
        return matches[0]
    if matches:
        at = ", ".join(str(file.raw.count("\n", 0, match.start()) + 1) for match in matches[:10])
        raise ToolError(
            f"old_str occurs {len(matches)} times in {arguments.path} (lines {at}); it must occur once. "
            "Add lines before or after it."
        )
    raise ToolError(f"old_str does not occur in {arguments.path}. {_hint(file, arguments.old_str)}")


def _hint(file: TextFile, old: str) -> str:
    """Why it may have missed: copied line numbers, other white space, or a line that is nearly the same."""
    wanted = TextFile(old).lines
    if len(_NUMBERED.findall(old)) == len(wanted):
        return "Leave out the line numbers and tabs that read_file puts before each line."
    first = next((line.strip() for line in wanted if line.strip()), "")
    stripped = [line.strip() for line in file.lines]
    if first in stripped:
        return (
            f"Its first line stands in line {stripped.index(first) + 1}, but the white space or what follows differs."
        )
    near = closest(first, stripped)
    if near:
        return f'Nearest is line {stripped.index(near[0]) + 1}: "{cut(near[0], 200)}".'
    return "Read the file again: it may have changed."


class DeleteFile(Arguments):
    """Delete a file."""

    path: str = Field(min_length=1)
    """From the repository's top level."""


def delete_file(env: ToolEnv, arguments: DeleteFile) -> ToolOutput:
    """Delete it."""
    env.workspace.delete(arguments.path)
    return ToolOutput(f"Deleted {arguments.path}.")
