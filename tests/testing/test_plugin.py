"""The plugin of pytest: marker, summary, seeds, and workers."""

import re

import pytest

pytest_plugins = ["pytester"]

SUITE = """
import numpy as np
import polystein as ps
import pytest

def normal(seed, n):
    return np.random.default_rng(seed).standard_normal((n, 1))

def judged(scale, **options):
    sampler = lambda seed, n: scale * normal(seed, n)
    return ps.testing.assert_draws_from(sampler, lambda x: -x, n=20, **options)

@pytest.mark.sampler(false_alarm=0.02)
def test_right():
    assert judged(1.0).false_alarm == 0.02
    assert judged(1.0, false_alarm=0.01).false_alarm == 0.01

@pytest.mark.sampler
def test_wrong():
    judged(1.5)

def test_open():
    judged(1.0, detect=(0.001, 0.001), budget=4000)
"""
#: Our own settings must not be those of the suites under test.
OPTIONS = ("-p", "_polystein_pytest", "-p", "no:cacheprovider", "--strict-markers")


def test_marker_rates_and_seeds(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polystein.testing.outcome.record", [])
    pytester.makepyfile(SUITE)
    result = pytester.runpytest_inprocess(*OPTIONS)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*tests of samplers (polystein)*",
            "2 passed, 1 failed, 1 undecided; * draws; false-alarm rates 0.001, 0.01, 0.02; a "
            "session with correct samplers fails at a rate of at most 0.032",
            "failed: *::test_wrong (ps.testing.assert_draws_from(*, n=20, *, rng=0))",
            "undecided: *::test_open (ps.testing.assert_draws_from(*, n=20, *, rng=0))",
        ]
    )
    assert re.search(r"the sd of `x\[0\]` is off by \+", result.stdout.str())


def test_a_suite_without_samplers_sees_nothing(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polystein.testing.outcome.record", [])
    pytester.makepyfile("def test_nothing(): pass")
    result = pytester.runpytest_inprocess(*OPTIONS)
    result.assert_outcomes(passed=1)
    assert "tests of samplers" not in result.stdout.str()
    markers = pytester.runpytest_inprocess(*OPTIONS, "--markers")
    markers.stdout.fnmatch_lines(["@pytest.mark.sampler(false_alarm=1e-3): *"])


@pytest.mark.parametrize("arguments", ["0.01", "rate=0.01", "false_alarm=2"])
def test_a_marker_with_other_arguments_is_an_error(
    arguments: str, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(
        f"import pytest\n@pytest.mark.sampler({arguments})\ndef test_it(): raise KeyError"
    )
    result = pytester.runpytest_inprocess(*OPTIONS)
    result.assert_outcomes(failed=1)
    assert "KeyError" not in result.stdout.str().replace("raise KeyError", "")
    assert re.search("takes false_alarm=|`false_alarm` must be", result.stdout.str())


@pytest.mark.slow
@pytest.mark.processes
def test_workers_send_what_they_tested(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SUITE)
    result = pytester.runpytest_subprocess(*OPTIONS, "-p", "xdist", "-n", "2")
    result.stdout.fnmatch_lines(["2 passed, 1 failed, 1 undecided; *at most 0.032"])


@pytest.mark.slow
@pytest.mark.processes
def test_the_plugin_does_not_import_polystein(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import sys\ndef test_it(): assert 'polystein' not in sys.modules")
    pytester.runpytest_subprocess(*OPTIONS).assert_outcomes(passed=1)
