"""What every setting has: a description, a variable of its own, a unit in its name, a place in the documentation."""

from __future__ import annotations

from pathlib import Path

from orchestrator.config import docs
from orchestrator.config.former import GONE, RENAMED
from orchestrator.config.load import NO_SETTINGS, settings_tree


def test_every_renamed_setting_leads_to_one_of_today() -> None:
    """The table of former names names what there is, and nothing of today is refused by it."""
    names = {setting.name for setting in settings_tree()}
    assert set(RENAMED.values()) <= names
    assert not names & (RENAMED.keys() | GONE.keys())


def test_every_duration_says_its_unit() -> None:
    """A setting that is told in seconds ends in _s."""
    told = [s.name for s in settings_tree() if (s.field.description or "").startswith("Seconds")]
    assert [name for name in told if not name.endswith("_s")] == []


def test_every_setting_has_a_variable_of_its_own() -> None:
    """No two settings share a variable, and none hides one that others read."""
    variables = [setting.variable for setting in settings_tree()]
    assert len(variables) == len(set(variables))
    assert not NO_SETTINGS & set(variables)


def test_every_setting_is_described() -> None:
    """Each field has a docstring, which is its help."""
    assert [setting.name for setting in settings_tree() if not setting.field.description] == []


def test_documentation_is_current() -> None:
    """docs/settings.md is what the code draws; `python -m orchestrator.config.docs > docs/settings.md` renews it."""
    path = Path(__file__).parents[2] / "docs" / "settings.md"
    assert path.read_text(encoding="utf-8") == docs.settings_reference()


def test_documentation_names_every_setting() -> None:
    """Each setting stands there with its variable, one role's models for all three."""
    text = docs.settings_reference()
    named = [s for s in settings_tree() if s.keys[0] != "models" or s.keys[1] == "worker"]
    assert all(f"| `{setting.name}` |" in text and f"`{setting.variable}`" in text for setting in named)
