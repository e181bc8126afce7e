"""What a test says, in a form that people and programs can read."""

import json
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import stats

import polystein as ps
from polystein.results.result import Component, Explanation, GofResult, Notes, tail_probability
from tests.conftest import arbitrary_rows

pytestmark = pytest.mark.filterwarnings("ignore::polystein.HeavyTailWarning")
DRAWS, SCORES = arbitrary_rows(300, 2)


@pytest.fixture(scope="module")
def result() -> GofResult:
    return ps.lambda_psd_test(DRAWS, SCORES, order=3, weights=ps.ClosedForm(), rng=0)


@pytest.mark.parametrize("statistic", [-3.0, -0.5, 0.0, 1.7, 40.0])
@pytest.mark.parametrize("df", [float("inf"), 7.0])
def test_tail_probabilities_are_those_of_scipy(statistic: float, df: float) -> None:
    law = stats.norm() if np.isinf(df) else stats.t(df)
    greater = tail_probability(statistic, df, "greater")
    assert greater == pytest.approx(law.sf(statistic), rel=1e-12)
    two_sided = tail_probability(statistic, df, "two-sided")
    assert two_sided == pytest.approx(2 * law.sf(abs(statistic)), rel=1e-12)


def test_everything_that_led_to_the_verdict_is_told(result: GofResult) -> None:
    assert result.method == "lambda-psd"
    assert result.alternative == "two-sided"
    assert (result.n_train, result.n_gap, result.n_test) == (210, 0, 90)
    assert result.ess == pytest.approx(90.0, rel=1e-14)
    assert result.settings["order"] == 3
    assert result.settings["dimension"] == 2
    assert result.settings["weights"] == "ClosedForm(ridge=0.01)"
    assert "RandomSplit" in result.settings["split"]
    assert result.settings["standardise"] is False
    assert result.warnings == ()


def test_weights_and_components_are_named(result: GofResult) -> None:
    names = ["x", "x^2", "x^3", "score"]
    assert result.weights is not None
    assert list(result.weights) == names
    assert [part.name for part in result.components] == names
    assert [part.weight for part in result.components] == list(result.weights.values())


def test_explanations_come_with_the_largest_share_first(result: GofResult) -> None:
    rows = result.explain()
    sizes = [abs(row.share) for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) == pytest.approx(1.0, rel=1e-12)
    assert {row.name for row in rows} == {"x", "x^2", "x^3", "score"}
    by_name = {part.name: part for part in result.components}
    for row in rows:
        assert isinstance(row, Explanation)
        assert (row.z, row.weight) == (by_name[row.name].z, by_name[row.name].weight)
        # A share has the sign of weight times mean, and z that of the mean.
        assert np.sign(row.share) == np.sign(row.weight * row.z)


def test_to_dict_is_json(result: GofResult) -> None:
    values = result.to_dict()
    assert json.loads(json.dumps(values)) == values
    assert values["schema_version"] == 1
    assert values["pvalue"] == result.pvalue
    assert values["weights"] == result.weights
    assert values["components"][0] == {
        "name": "x",
        "z": result.components[0].z,
        "weight": result.components[0].weight,
    }


def test_results_are_values(result: GofResult) -> None:
    with pytest.raises(AttributeError):
        result.pvalue = 0.5  # type: ignore[misc]
    again = ps.lambda_psd_test(DRAWS, SCORES, order=3, weights=ps.ClosedForm(), rng=0)
    assert again == result


def test_a_result_without_shares_still_explains() -> None:
    bare = GofResult(1.0, 0.3, "two-sided", "psd", components=(Component("x", 1.0, 1.0),))
    assert bare.explain()[0].name == "x"
    assert bare.to_dict()["weights"] is None


def test_notes_keep_their_order_and_are_emitted_once_each() -> None:
    notes = Notes()
    notes.add(ps.LowESSWarning("first"))
    notes.add(ps.DependenceWarning("second"))
    assert notes.messages == ("first", "second")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        notes.emit()
    kinds: list[Any] = [item.category for item in caught]
    assert kinds == [ps.LowESSWarning, ps.DependenceWarning]
