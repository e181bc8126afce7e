"""The plugin of pytest: the marker `sampler`, and a summary of all tests of samplers.

It is a package of its own, so that pytest, which loads all plugins, imports polystein only in
test suites that do so themselves.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from typing import Any

import pytest

#: Where workers of pytest-xdist put their records.
_KEY = "polystein_records"
_of_workers = pytest.StashKey[list[dict[str, Any]]]()


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers",
        "sampler(false_alarm=1e-3): the false-alarm rate of each assertion about a sampler "
        "(polystein.testing) in the test that gives none itself",
    )
    config.stash[_of_workers] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Run a test with the rate of its marker."""
    marker = item.get_closest_marker("sampler")
    if marker is None:
        return (yield)
    if marker.args or set(marker.kwargs) - {"false_alarm"}:
        raise pytest.UsageError(
            f"{item.nodeid}: the marker `sampler` takes false_alarm=... and nothing else"
        )
    if "false_alarm" not in marker.kwargs:
        return (yield)
    from polystein.testing.outcome import marked

    with marked(marker.kwargs["false_alarm"]):
        return (yield)


def _own_records() -> list[dict[str, Any]]:
    """What this process tested; nothing if polystein was not imported."""
    module = sys.modules.get("polystein.testing.outcome")
    return [] if module is None else module.record


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Workers of pytest-xdist send what they tested."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput[_KEY] = json.dumps(_own_records())


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a worker tested. One that crashed sends nothing."""
    sent = getattr(node, "workeroutput", {}).get(_KEY, "[]")
    node.config.stash[_of_workers].extend(json.loads(sent))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """One line with the rates of the session, and how to rerun what did not pass."""
    records = [*_own_records(), *config.stash[_of_workers]]
    if not records:
        return
    # Rates add up: the chance that any of the correct samplers fails is at most their sum.
    total = sum(one["false_alarm"] for one in records)
    outcomes = [one["outcome"] for one in records]
    counts = ", ".join(
        f"{outcomes.count(outcome)} {outcome}"
        for outcome in ("passed", "failed", "undecided")
        if outcome in outcomes
    )
    rates = ", ".join(f"{rate:g}" for rate in sorted({one["false_alarm"] for one in records}))
    draws = sum(one["draws"] for one in records)
    terminalreporter.section("tests of samplers (polystein)")
    terminalreporter.line(
        f"{counts}; {draws:,} draws; false-alarm rates {rates}; "
        f"a session with correct samplers fails at a rate of at most {min(total, 1.0):.3g}"
    )
    for one in records:
        if one["outcome"] != "passed":
            terminalreporter.line(f"{one['outcome']}: {one['test']} ({one['again']})")
