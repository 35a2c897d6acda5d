"""What of delivered work executes by itself later: when its user builds, tests, commits or opens the folder. A person
is told of it before they merge."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable

from orchestrator.gates.deciding import PARTLY_DECIDING
from orchestrator.gates.protected import is_decider

_NAMES = (
    *("setup.py", "build.rs", "cmakelists.txt", "configure", "*.cmake", "build.gradle*", "settings.gradle*", "pom.xml"),
    *("gruntfile.*", "gulpfile.*", "webpack.config.*", "rollup.config.*", "next.config.*", "postcss.config.*"),
    *("tailwind.config.*", ".prettierrc*", "prettier.config.*", "dockerfile*", "*.dockerfile", "containerfile"),
    *("docker-compose*.y*ml", "compose*.y*ml", "vagrantfile", "procfile", ".envrc", ".env", ".tool-versions"),
    *("lefthook.y*ml", ".lintstagedrc*", ".pnpmfile.cjs", "gemfile", "composer.json", "orchestrate.toml"),
    *("cloudbuild.y*ml", "*.code-workspace", ".gitmodules", ".gitattributes", "go.mod", "requirements*.txt"),
)
_FOLDERS = (".githooks", ".husky", ".vscode", ".idea", ".devcontainer", "hooks", ".git-hooks", ".zed", ".claude")
_IS_NAME, _IS_FOLDER = (re.compile("|".join(map(fnmatch.translate, names))) for names in (_NAMES, _FOLDERS))


def runs_later(paths: Iterable[str]) -> tuple[str, ...]:
    """Those of the paths that tools execute, or take their commands from, without being asked for them by name."""
    return tuple(path for path in sorted(paths) if is_decider(path) or _by_name(path))


def _by_name(path: str) -> bool:
    *folders, name = path.lower().split("/")
    partly = path.rpartition("/")[2] in PARTLY_DECIDING
    return partly or _IS_NAME.match(name) is not None or any(_IS_FOLDER.match(folder) for folder in folders)
