"""Trust in a repository's settings file.

Whoever writes a repository's files writes its settings, so what sends something elsewhere, runs something or opens the
sandbox counts only after the user has looked at it. What was trusted is remembered outside the repository, by the hash
of the file: a changed file is a new one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from orchestrator.config.file import SettingKeys, SettingsFile, xdg_folder
from orchestrator.config.former import ROLES
from orchestrator.config.keys import named_pairs
from orchestrator.config.settings import Settings
from orchestrator.domain.errors import UntrustedSettingsError, UserError

HARMLESS_SECTIONS = frozenset({"budgets"})
BOUNDING_SECTIONS = frozenset({"complexity", "convergence", "guards", "run"})
"""What bounds work: a repository may bound it more narrowly than its user does, and only the user more widely."""
HARMLESS_OF_MODELS = frozenset(
    {"name", "temperature", "context_window", "max_output_tokens", "tools", "retries", "rate_limit"}
    | {"idle_timeout_s", "timeout_s", "effort", "reasoning_tokens"}
)
HARMLESS = frozenset({("checks", "timeout_s"), ("run", "parallel"), ("run", "lease_s"), ("run", "graph_wait_s")})
"""What needs no trust is listed; any other setting, of a later release too, needs it."""


_DEFAULTS = Settings().model_dump()


def needs_trust(keys: SettingKeys, value: Any, users: Mapping[str, Any]) -> bool:
    """Whether a setting of a repository's file counts only after the file was trusted, given the values of the user's
    own file."""
    if keys[0] == "models":
        return next((key for key in keys[1:] if key not in ROLES), "") not in HARMLESS_OF_MODELS
    if keys in HARMLESS or keys[0] in HARMLESS_SECTIONS:
        return False
    return keys[0] not in BOUNDING_SECTIONS or _loosens(value, _value_at(keys, users))


def _value_at(keys: SettingKeys, users: Mapping[str, Any]) -> Any:
    """What would count without the repository's file: the user's own value, else the default."""
    found: list[Any] = [users, _DEFAULTS]
    for key in keys:
        found = [table[key] for table in found if isinstance(table, Mapping) and key in table]
    return found[0] if found else None


def _loosens(value: Any, without: Any) -> bool:
    """Whether a bound is wider. Where there is none, any number is narrower; what is no number may only be equal."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return bool(value != without)
    return without is not None and (not isinstance(without, int | float) or value > without)


@dataclass(frozen=True, slots=True)
class Demand:
    """One setting of a repository's file that needs trust."""

    keys: SettingKeys
    value: Any
    place: str

    def __str__(self) -> str:
        # the value whole and in ASCII: nothing may hide behind padding, escapes or letters that look alike
        return f"{'.'.join(self.keys)} = {json.dumps(self.value, default=str)}  ({self.place})"


@dataclass(frozen=True, slots=True)
class Untrusted:
    """A repository's file, and what of it needs trust, in its order."""

    file: SettingsFile
    demands: tuple[Demand, ...]

    @classmethod
    def of(cls, file: SettingsFile, users: SettingsFile) -> Untrusted:
        """What the file asks for beside the user's own file."""
        asked = (each for each in file.settings() if needs_trust(*each, users.values))
        return cls(file, tuple(Demand(keys, value, file.where(keys)) for keys, value in asked))

    @property
    def described(self) -> str:
        """What the file asks for, one setting a line, and which keys it would have sent where."""
        lines = [f"  {demand}" for demand in self.demands]
        pairs = (f"  The value of ${pair.variable} may go to {pair.origin}." for pair in named_pairs(self.file.values))
        return "\n".join([*lines, *dict.fromkeys(pairs)]).encode("ascii", "backslashreplace").decode()

    @property
    def error(self) -> UntrustedSettingsError:
        """What is said of a file that asks for what was not trusted."""
        return UntrustedSettingsError(
            f"{self.file.path} sets what counts only after you have trusted the file.",
            next_step="Read it, then say so with `orchestrate trust`; a changed file asks again. It asks for:\n"
            + self.described,
        )

    @property
    def harmless_part(self) -> SettingsFile:
        """The file without what needs trust."""
        values = deepcopy(dict(self.file.values))
        for demand in self.demands:
            table = values
            for key in demand.keys[:-1]:
                table = table[key]
            del table[demand.keys[-1]]
        return replace(self.file, values=values)


@dataclass(frozen=True, slots=True)
class TrustStore:
    """What the user has trusted: one file a settings file, with its path and hash, readable by the user alone. `folder`
    is None where no home is known; then nothing is trusted and nothing can be."""

    folder: Path | None

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> TrustStore:
        """The store below XDG_DATA_HOME, or ~/.local/share."""
        ours = xdg_folder(environ, "XDG_DATA_HOME", ".local/share")
        return cls(ours / "trusted" if ours else None)

    def holds(self, file: SettingsFile) -> bool:
        """Whether this content of this file was trusted."""
        if self.folder is None:
            return False
        try:
            return self.folder.joinpath(_entry(file)).read_text("utf-8") == _record(file)
        except (OSError, UnicodeDecodeError):
            return False

    def add(self, file: SettingsFile) -> None:
        """Remember this content as trusted, in place of an earlier one. Raises UserError where that cannot be kept."""
        if self.folder is None:
            raise UserError("There is no place to remember what you trust.", next_step="Set HOME or XDG_DATA_HOME.")
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with NamedTemporaryFile("w", encoding="utf-8", dir=self.folder, delete=False) as new:  # 0600
                new.write(_record(file))
            Path(new.name).replace(self.folder / _entry(file))
        except OSError as error:
            raise UserError(f"{self.folder} cannot be written: {error.strerror}.") from None

    def remove(self, file: SettingsFile) -> bool:
        """Forget the file, whatever its content was; False when it was not trusted. Raises UserError where the store
        cannot be written."""
        try:
            (self.folder or Path(os.devnull)).joinpath(_entry(file)).unlink()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise UserError(f"{self.folder} cannot be changed: {error.strerror}.") from None
        return True


def _entry(file: SettingsFile) -> str:
    return hashlib.sha256(os.fsencode(file.path)).hexdigest()


def _record(file: SettingsFile) -> str:
    return json.dumps({"path": str(file.path), "sha256": file.digest})
