"""A command's environment and what it may read of the user's real home.

Nothing is inherited that is not listed here, so no key, token or password reaches a command.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

_KEPT_NAMES = """
PATH LANG LANGUAGE TERM TZ USER LOGNAME NO_COLOR
VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV JAVA_HOME JDK_HOME M2_HOME MAVEN_HOME
ANDROID_HOME RUSTUP_TOOLCHAIN PYENV_VERSION NVM_BIN GOROOT GOTOOLCHAIN GOFLAGS DOTNET_ROOT
SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS LD_LIBRARY_PATH NIX_PATH NIX_SSL_CERT_FILE
"""
_KEPT = frozenset(_KEPT_NAMES.split())
_SECRET = re.compile(r"(KEY|TOKEN|PASSWORD|PASSWD|SECRET|CREDENTIALS?)$", re.IGNORECASE)

_TOOLS = {
    "RUSTUP_HOME": ".rustup",
    "CARGO_HOME": ".cargo",
    "PYENV_ROOT": ".pyenv",
    "NVM_DIR": ".nvm",
    "VOLTA_HOME": ".volta",
    "RBENV_ROOT": ".rbenv",
    "NODENV_ROOT": ".nodenv",
    "GOENV_ROOT": ".goenv",
    "ASDF_DATA_DIR": ".asdf",
    "SDKMAN_DIR": ".sdkman",
    "BUN_INSTALL": ".bun",
    "DENO_INSTALL": ".deno",
    "FNM_DIR": ".local/share/fnm",
    "MISE_DATA_DIR": ".local/share/mise",
    "UV_PYTHON_INSTALL_DIR": ".local/share/uv/python",
    "UV_TOOL_DIR": ".local/share/uv/tools",
    "PIPX_HOME": ".local/share/pipx",
    "GOMODCACHE": "go/pkg/mod",
}
"""The variable that names a tool's folder, and where it is by default below the home."""

_DOWNLOADS = frozenset({"CARGO_HOME", "GOMODCACHE"})

_SET = {
    # Python takes a .pyc for current when the source has the same size and the same second as before: an edit of 41 to
    # 42 right after a test run would test the old code.
    "PYTHONDONTWRITEBYTECODE": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}
_FOLDERS = (".m2/repository", "miniconda3", "miniforge3", "anaconda3")
_CREDENTIALS = re.compile(r"credentials(\.toml)?$|\.netrc$|auth\.json$")


def scrubbed(
    environ: Mapping[str, str], real_home: Path, extra: Mapping[str, str], *, network: bool = False
) -> dict[str, str]:
    """The environment of every command: the kept names, the tools' folders by their real paths, and the settings'. With
    the network those that downloads go to are left out: the user's own cannot be written."""
    inherited = {name: value for name, value in environ.items() if name in _KEPT or name.startswith("LC_")}
    kept = {name: value for name, value in inherited.items() if not _SECRET.search(name)}
    tools = {
        name: str(folder)
        for name, folder in _tool_folders(environ, real_home)
        if not (network and name in _DOWNLOADS) or (folder / "config.toml").exists()  # cargo's own mirrors stay known
    }
    return {"LANG": "C.UTF-8", "PATH": os.defpath} | kept | tools | _SET | dict(extra)


def with_virtual_environment(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The environment with a shared virtual environment's programs first on PATH."""
    path = f"{folder / 'bin'}{os.pathsep}{environment.get('PATH', os.defpath)}"
    return dict(environment) | {"PATH": path, "VIRTUAL_ENV": str(folder)}


def readable_paths(
    environ: Mapping[str, str], real_home: Path, extra: Sequence[str], interpreters: Sequence[Path] = ()
) -> tuple[Path, ...]:
    """What of the masked home stays readable: PATH entries, what the programs in them resolve into, tools' folders
    without their credentials, the settings' read_paths."""
    found = [Path(entry) for entry in environ.get("PATH", os.defpath).split(os.pathsep)]
    found += [folder for _, folder in _tool_folders(environ, real_home)]
    found += [real_home / name for name in _FOLDERS]
    found += [*_prefixes(interpreters), *(Path(path).expanduser() for path in extra)]
    existing = (
        path
        for path in dict.fromkeys(found)  # but the home itself or a folder above it, which would unmask it all
        if path.is_absolute() and os.access(path, os.R_OK) and not real_home.is_relative_to(path) and path != Path("/")
    )
    return tuple(dict.fromkeys(part for path in existing for part in _without_credentials(path)))


def _tool_folders(environ: Mapping[str, str], real_home: Path) -> Iterator[tuple[str, Path]]:
    for name, default in _TOOLS.items():
        folder = Path(environ.get(name) or real_home / default)
        if os.access(folder, os.R_OK | os.X_OK):
            yield name, folder


def _prefixes(interpreters: Sequence[Path]) -> Iterator[Path]:
    """The installation that a virtual environment's interpreter belongs to: the folder above its bin."""
    for interpreter in interpreters:
        real = interpreter.resolve()
        if os.access(real, os.R_OK) and real.parent.name == "bin":
            yield real.parent.parent


def _without_credentials(path: Path) -> Iterator[Path]:
    """The folder, or what is in it where one of its files holds credentials."""
    try:
        inside = os.listdir(path) if path.is_dir() else []  # noqa: PTH208  /usr/bin has thousands: names do
    except OSError:
        return
    if not any(map(_CREDENTIALS.search, inside)):
        yield path
        return
    yield from (path / name for name in inside if not _CREDENTIALS.search(name))
