"""Settings hold options and nothing else; what was found or estimated is evidence."""

from typing import Any

import pytest

import polystein as ps
from tests.results.real import TESTS, chains, normal_score, real, rows

pytestmark = pytest.mark.filterwarnings("ignore::polystein.PolysteinWarning")

SPLIT_SAMPLE = {"order", "basis", "structure", "split", "variance", "weights", "standardise"}
KEYS: dict[str, set[str]] = {
    "psd": SPLIT_SAMPLE,
    "psd repeats": SPLIT_SAMPLE | {"repeats"},
    "psd weighted": SPLIT_SAMPLE,
    "psd chains": SPLIT_SAMPLE,
    "lambda-psd": SPLIT_SAMPLE,
    "lambda-psd order 0": SPLIT_SAMPLE,
    "lambda-psd repeats": SPLIT_SAMPLE | {"repeats"},
    "lambda-psd coordinate": SPLIT_SAMPLE | {"resolution"},
    "lambda-psd entry": SPLIT_SAMPLE | {"resolution"},
    "check": {"iid"},
    "check rejected": {"iid"},
    "check flips alone": {"iid"},
    "check without arms": {"iid"},
    "check trained alone": {"iid"},
    "check weighted": {"iid"},
    "psd-bootstrap": {"order", "structure", "estimator", "length", "n_bootstrap"},
    "psd-bootstrap chains": {"order", "structure", "estimator", "length", "n_bootstrap"},
    "ksd": {"kernel", "estimator", "length", "n_bootstrap"},
    "ksdagg": {"kernel", "bandwidths", "n_correction", "length", "n_bootstrap"},
    "ksdagg bandwidths": {"kernel", "bandwidths", "n_correction", "length", "n_bootstrap"},
    "nystrom-ksd": {"kernel", "n_landmarks", "length", "n_bootstrap"},
    "psd-l2": {"order", "basis", "length", "n_bootstrap"},
    "fssd": {"n_locations", "optimise", "train", "max_steps", "n_simulations"},
    "rfsd": {"n_features", "calibration", "medians", "degrees_of_freedom", "n_bootstrap"},
}
ESTIMATES: dict[str, set[str]] = {
    "psd weighted": {"weights_ess"},
    "lambda-psd entry": {"weights_ess"},
    "check weighted": {"weights_ess"},
    "psd-bootstrap": {"multiplier_length"},
    "psd-bootstrap chains": {"multiplier_length"},
    "ksd": {"kernel", "multiplier_length"},
    "ksdagg": {"bandwidths", "bandwidth", "multiplier_length"},
    "ksdagg bandwidths": {"bandwidths", "bandwidth", "multiplier_length"},
    "nystrom-ksd": {"kernel", "multiplier_length"},
    "psd-l2": {"columns", "multiplier_length"},
    "fssd": {"locations", "squared_width"},
    "rfsd": {"c", "beta", "log_unit", "locations"},
}


@pytest.mark.parametrize("name", TESTS)
def test_the_keys_are_those_of_the_options(name: str) -> None:
    assert set(real(name).settings) == KEYS[name] | {"rng"}


@pytest.mark.parametrize("name", TESTS)
def test_settings_are_plain(name: str) -> None:
    for value in real(name).settings.values():
        items = value if isinstance(value, list) else [value]
        assert all(item is None or isinstance(item, str | int | float) for item in items)


@pytest.mark.parametrize("name", TESTS)
def test_what_was_estimated_is_evidence(name: str) -> None:
    assert set(real(name).evidence.estimates) == ESTIMATES.get(name, set())


@pytest.mark.parametrize("name", TESTS)
def test_every_result_knows_its_dimension(name: str) -> None:
    assert real(name).dimension == 3


def test_options_are_told_as_they_were_given() -> None:
    assert real("psd-bootstrap chains").settings["length"] == "auto"
    assert real("ksd").settings["kernel"] == "GaussianKernel(bandwidth='median')"
    assert real("ksdagg").settings["bandwidths"] is None
    assert real("ksdagg bandwidths").settings["bandwidths"] == [1.0, 2.5]
    assert real("check").settings == {"iid": False, "rng": 0}
    assert real("check rejected").settings == {"iid": True, "rng": 0}


@pytest.mark.parametrize(
    ("test", "options"),
    [
        (ps.psd_test, {"order": 1, "split": ps.BlockSplit(), "variance": ps.InitialSequence()}),
        (ps.check, {}),
        (ps.psd_bootstrap_test, {"order": 1, "n_bootstrap": 9}),
        (ps.ksd_test, {"n_bootstrap": 9}),
    ],
)
def test_other_draws_leave_the_settings_as_they_are(test: Any, options: dict[str, Any]) -> None:
    first, second = (
        test(draws, normal_score, rng=0, **options)
        for draws in (chains(), 1.2 * chains(0.7)[:, :250])
    )
    assert first.settings == second.settings
    assert first != second


@pytest.mark.parametrize("test", [ps.ksdagg_test, ps.fssd_test, ps.rfsd_test])
def test_other_rows_leave_the_settings_as_they_are(test: Any) -> None:
    first, second = (test(draws, normal_score, rng=0) for draws in (rows(), rows(1.2)))
    assert first.settings == second.settings
    assert first != second
