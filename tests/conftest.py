"""The slow files first: with a file to a worker, the longest must not begin last."""

from __future__ import annotations

import pytest

SLOW = ("stories", "cli", "test_readme", "store")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort by slowness of the file's room, else as collected."""
    items.sort(key=lambda item: not any(part in item.nodeid for part in SLOW))
