"""The one call for users, and who is warned of what."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein._lib.notes import Notes
from polystein.data.passes import Tick
from polystein.errors import DegenerateError, InputError, ScaleError
from polystein.methods.check.check import both_arms
from polystein.methods.check.families import BASIS
from polystein.methods.split_sample import SplitSampleTest
from polystein.report.text import found_words
from tests.conftest import Array
from tests.statistical.samplers import autoregressive


def chains(count: int = 4, rows: int = 1000, dimension: int = 3, memory: float = 0.5) -> Array:
    return autoregressive(np.random.default_rng(0), count, rows, dimension, memory)


def normal_score(draws: Any) -> Any:
    return -draws


FLIPS, TRAINED = "sign flips", "trained witnesses"
OF_FLIPS = [
    f"{family}: {kind}"
    for family in ("score", "x", "G1-4", "x pairs", "G2 pairs")
    for kind in ("sum", "max")
]
OF_TRAINED = ["trained score", "sparse score", "sparse stack", "trained x", "trained stack"]


def arm_pvalue(result: ps.GofResult, name: str) -> float:
    arm = result.evidence.arm(name)
    assert arm is not None
    return arm.pvalue


def arm_names(result: ps.GofResult) -> list[str]:
    return [arm.name for arm in result.evidence.arms]


def test_the_p_value_is_that_of_the_better_arm() -> None:
    """p = min(1, p_flips/w, p_trained/(1 - w)), from the arms run by hand."""
    sample = ps.Sample(1.05 * chains(), normal_score)
    test = SplitSampleTest(
        sample, BASIS, "full", ps.BlockSplit(), ps.InitialSequence(), "greater", True
    )
    (rows,) = test.rounds(1, 3, Notes())
    flips, (trained, *_) = both_arms(rows, Tick())
    assert trained is not None
    assert flips is not None
    result = ps.check(sample, rng=3)
    assert result.pvalue == min(1.0, flips.pvalue / 0.8, trained.pvalue / (1.0 - 0.8))
    assert arm_pvalue(result, FLIPS) == min(1.0, flips.pvalue / 0.8)
    assert arm_pvalue(result, TRAINED) == min(1.0, trained.pvalue / (1.0 - 0.8))
    assert result.evidence.arms[0].pvalue == result.pvalue <= result.evidence.arms[1].pvalue


def test_the_evidence_holds_the_parts_of_both_arms() -> None:
    result = ps.check(chains(), normal_score, rng=0)
    assert sorted(part.name for part in result.evidence.parts) == sorted(OF_FLIPS + OF_TRAINED)
    assert sum(part.level_share for part in result.evidence.parts) == pytest.approx(1.0)
    assert {arm.name: arm.rows for arm in result.evidence.arms} == {
        FLIPS: "all rows",
        TRAINED: "the test rows",
    }
    assert result.components == ()
    assert (result.method, result.dimension) == ("check", 3)
    assert result.weights is None


def test_the_verdict_hangs_on_rng_alone() -> None:
    draws = chains()
    first = ps.check(draws, normal_score, rng=1)
    assert ps.check(draws, normal_score, rng=1) == first
    results = [ps.check(draws, normal_score, rng=rng) for rng in range(5)]
    assert len({arm_pvalue(result, FLIPS) for result in results}) > 1
    # On chains only the flips are random.
    assert len({arm_pvalue(result, TRAINED) for result in results}) == 1


def test_independent_rows_are_split_by_rng() -> None:
    draws = chains(1, 2000, memory=0.0)[0]
    first = ps.check(draws, normal_score, iid=True, rng=1)
    assert ps.check(draws, normal_score, iid=True, rng=1) == first
    other = ps.check(draws, normal_score, iid=True, rng=2)
    assert [part.z for part in other.evidence.parts] != [part.z for part in first.evidence.parts]
    assert first.settings["split"] == "RandomSplit(train=0.5, weights=0.5)"
    assert first.settings["variance"] == "IID()"
    assert (first.n_train, first.n_gap, first.n_test) == (1000, 0, 1000)


def test_an_arm_that_abstains_leaves_the_other_its_share() -> None:
    with pytest.warns(ps.LowESSWarning):
        few = ps.check(chains(1, 30, memory=0.0)[0], normal_score, iid=True, rng=0)
    assert arm_names(few) == [TRAINED]
    assert {part.name for part in few.evidence.parts} == set(OF_TRAINED)
    assert sum(part.level_share for part in few.evidence.parts) == pytest.approx(0.2)
    with pytest.warns(ps.LowESSWarning):
        slow = ps.check(chains(10, 100, memory=0.99), normal_score, rng=0)
    assert arm_names(slow) == [FLIPS]
    assert (slow.n_train, slow.n_gap, slow.n_test) == (0, 0, 1000)
    assert np.isnan(slow.ess)
    assert "all 1000 tested, none needed for training" in str(slow)
    assert "sign flips of batches judge alone" in slow.warnings[0]
    assert sum(part.level_share for part in slow.evidence.parts) == pytest.approx(0.8)


def test_chains_that_hardly_move_are_refused() -> None:
    with pytest.raises(DegenerateError, match="`draws` must hold more independent draws"):
        ps.check(chains(4, 500, memory=0.9999), normal_score, rng=0)


def test_one_row_that_outweighs_all_others_decides_nothing() -> None:
    draws = np.random.default_rng(5).standard_normal((400, 3))
    log_weights = np.zeros(400)
    log_weights[7] = 40.0
    sample = ps.Sample(draws, normal_score, log_weights=log_weights)
    with pytest.raises(DegenerateError, match="effective test rows"):
        ps.check(sample, iid=True, rng=0)
    # That row trains, and the others test what it taught.
    for iid, rng in ((True, 1), (False, 1)):
        result = ps.check(sample, iid=iid, rng=rng)
        assert arm_names(result) == [TRAINED]
        assert result.pvalue > 0.01


@pytest.mark.filterwarnings("ignore::polystein.PolysteinWarning")
@pytest.mark.parametrize("size", [1e20, 1e80])
def test_one_huge_score_does_not_make_the_p_value_0(size: float) -> None:
    draws = np.random.default_rng(5).standard_normal((400, 3))
    scores = -draws
    scores[5] *= size
    for iid in (True, False):
        assert 1.0 / 500.0 <= ps.check(draws, scores, iid=iid, rng=0).pvalue <= 1.0


@pytest.mark.parametrize("iid", [False, True])
@pytest.mark.parametrize("row", [0, 201, 399])
def test_one_huge_draw_is_warned_about(row: int, iid: bool) -> None:
    draws = np.random.default_rng(5).standard_normal((400, 1))
    draws[row] = 1e6
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        result = ps.check(draws, normal_score, iid=iid, rng=1)
    assert "one row of `draws` makes up 100% of the variance" in result.warnings[0]
    assert result.pvalue > 0.0


@pytest.mark.parametrize("row", [5, 201, 399])
def test_draws_beyond_the_range_of_their_features_are_refused(row: int) -> None:
    draws = np.random.default_rng(5).standard_normal((400, 1))
    draws[row] = 1e160
    with pytest.raises(ScaleError):
        ps.check(draws, normal_score, rng=1)


def test_weights_in_one_corner_are_no_obstacle() -> None:
    draws = np.random.default_rng(5).standard_normal((400, 3))
    log_weights = np.full(400, -np.inf)
    log_weights[:100] = 0.0
    sample = ps.Sample(draws, normal_score, log_weights=log_weights)
    assert 0.0 < ps.check(sample, iid=True, rng=0).pvalue <= 1.0


@pytest.mark.filterwarnings("ignore::polystein.LowESSWarning")
def test_a_product_that_remembers_longer_than_its_factors_is_seen() -> None:
    """Exact draws of N(0, I) whose coordinates are independent in time, but not their product."""
    rejections = 0
    for seed in range(60):
        rng = np.random.default_rng([seed, 1])
        signs = np.cumprod(np.where(rng.random(1000) < 0.02, -1.0, 1.0))
        draws = rng.standard_normal((1000, 2))
        draws[:, 1] = np.abs(draws[:, 1]) * np.sign(draws[:, 0]) * signs
        rejections += ps.check(draws, normal_score, rng=seed).pvalue <= 0.05
    # A size of 0.05 gives more than 8 of 60 in 0.6 % of the cases; it was 0.24 once.
    assert rejections <= 8


def test_two_dimensions_are_one_chain() -> None:
    draws = chains(1, 3000)
    flat, one = (ps.check(given, normal_score, rng=0) for given in (draws[0], draws))
    assert flat.statistic == one.statistic
    assert flat.pvalue == one.pvalue
    assert flat.settings["split"] == "BlockSplit(train=0.5, gap='auto', weights=0.5)"


@pytest.mark.filterwarnings("ignore::polystein.HeavyTailWarning")
@pytest.mark.parametrize(("count", "rows"), [(1, 2000), (2, 1000), (4, 700), (50, 100)])
def test_counts_of_rows(count: int, rows: int) -> None:
    result = ps.check(chains(count, rows), normal_score, rng=0)
    assert result.n_train + result.n_gap + result.n_test == count * rows
    assert result.n_train == count * rows // 2
    assert result.n_gap % count == 0
    # Five autocorrelation times of the slowest feature; that of x itself is 3.
    assert 5 <= result.n_gap // count <= 40
    assert 0.0 < result.pvalue <= 1.0
    assert 100.0 < result.ess < 2 * result.n_test


def test_the_gap_grows_with_the_memory() -> None:
    gaps = [
        ps.check(chains(memory=memory), normal_score, rng=0).n_gap for memory in (0.0, 0.5, 0.8)
    ]
    assert gaps[0] < gaps[1] < gaps[2]


def test_scores_their_function_and_a_sample_agree() -> None:
    draws = chains(2, 600)
    expected = ps.check(draws, -draws, rng=0)
    result = ps.check(draws, normal_score, rng=0)
    for part, wanted in zip(result.evidence.parts, expected.evidence.parts, strict=True):
        assert part.z == pytest.approx(wanted.z, rel=1e-9)
    assert (result.n_gap, result.n_test) == (expected.n_gap, expected.n_test)
    sample = ps.Sample(draws, -draws, names=["a", "b", "c"])
    assert ps.check(sample, rng=0).pvalue == pytest.approx(expected.pvalue, rel=1e-9)


@pytest.mark.parametrize("iid", [False, True])
def test_units_and_the_order_of_coordinates_do_not_matter(iid: bool) -> None:
    draws = chains(1, 2000)[0] if iid else chains()
    units, origin = np.array([1e-8, 50.0, -3e6]), np.array([1e-7, -500.0, 1e7])
    here = ps.check(draws, -draws, iid=iid, rng=0)
    turned = [2, 0, 1]
    for moved, scores in (
        (draws * units + origin, -draws / units),
        (draws[..., turned], -draws[..., turned]),
    ):
        there = ps.check(moved, scores, iid=iid, rng=0)
        assert there.pvalue == pytest.approx(here.pvalue, rel=1e-7)
        assert there.ess == pytest.approx(here.ess, rel=1e-7)
        assert there.n_gap == here.n_gap
        for part, wanted in zip(there.evidence.parts, here.evidence.parts, strict=True):
            assert (part.name, part.words) == (wanted.name, wanted.words)
            assert part.z == pytest.approx(wanted.z, rel=1e-6)
            assert part.level_share == wanted.level_share


def test_inputs_are_left_alone() -> None:
    draws = chains()
    scores, log_weights = -draws, np.zeros((4, 1000))
    copies = [array.copy() for array in (draws, scores, log_weights)]
    ps.check(ps.Sample(draws, scores, log_weights=log_weights), rng=0)
    for array, copy in zip((draws, scores, log_weights), copies, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (lambda draws: draws * np.array([1.0, 1.0, 1.4]), "spread of c (x: sum, all rows)"),
        (
            lambda draws: draws + 0.5 * draws[:, [1, 0, 0]] * [1.0, 0.0, 0.0] / 1.25**0.5,
            "correlation of b and a (x pairs: max, all rows)",
        ),
        (lambda draws: draws + 0.15, "location of all coordinates together (score: sum, all rows)"),
    ],
)
def test_a_fault_is_found_and_placed(fault: Callable[[Array], Array], words: str) -> None:
    draws = fault(chains(1, 2000, memory=0.0)[0])
    result = ps.check(ps.Sample(draws, -draws, names=["a", "b", "c"]), iid=True, rng=0)
    assert result.pvalue < 0.01
    assert result.statistic > 2.0
    assert found_words(result) == words
    assert found_words(result) in str(result).replace("\n           ", " ")
    assert set(arm_names(result)) == {FLIPS, TRAINED}


def test_a_fault_of_chains_is_found() -> None:
    result = ps.check(1.3 * chains(memory=0.9, rows=2000), normal_score, rng=0)
    assert result.pvalue < 1e-2


def test_a_score_that_is_constant_is_judged() -> None:
    """Exp(1) on its own scale: the score is -1, and no density on the line has that."""
    draws = np.random.default_rng(0).exponential(size=(2, 500, 2))
    with pytest.warns(ps.ScoreWarning, match="the same at all draws"):
        result = ps.check(draws, -np.ones_like(draws), rng=0)
    assert result.pvalue < 0.01


@pytest.mark.parametrize("weight", [0.0, 700.0])
def test_weighted_chains(weight: float) -> None:
    """Equal weights change nothing; the weights' effective size is reported."""
    draws = chains()
    plain = ps.check(draws, normal_score, rng=0)
    sample = ps.Sample(draws, normal_score, log_weights=np.full((4, 1000), weight))
    result = ps.check(sample, rng=0)
    assert result.pvalue == pytest.approx(plain.pvalue, rel=1e-9)
    assert result.evidence.estimates == {"weights_ess": pytest.approx(4000.0)}
    assert plain.evidence.estimates == {}


def test_weights_right_what_they_were_made_to() -> None:
    draws = 1.25 * chains(memory=0.8, rows=2000)
    log_weights = -0.5 * (1.0 - 1.25**-2) * np.sum(draws**2, axis=-1)
    assert ps.check(draws, normal_score, rng=0).pvalue < 1e-2
    assert ps.check(ps.Sample(draws, normal_score, log_weights=log_weights), rng=0).pvalue > 0.05


# Warnings


@pytest.mark.parametrize("iid", [False, True])
def test_warnings_point_at_the_caller(iid: bool) -> None:
    draws = chains(1, 45)[0]
    with pytest.warns(ps.LowESSWarning, match="effective test draws") as caught:
        ps.check(draws, normal_score, iid=iid, rng=0)
    assert [item.filename for item in caught] == [__file__]


def test_few_effective_draws_are_warned_about() -> None:
    with pytest.warns(ps.LowESSWarning, match="not to be trusted with fewer than 100: take more"):
        result = ps.check(chains(memory=0.98), normal_score, rng=0)
    assert result.ess < 100.0


def test_chains_called_independent_are_warned_about() -> None:
    with pytest.warns(ps.DependenceWarning):
        ps.check(chains(), normal_score, iid=True, rng=0)


# Errors


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="`scores` must be an array"):
        ps.check(chains())
    with pytest.raises(InputError, match="`draws` must have more rows for BlockSplit"):
        ps.check(chains(1, 3), normal_score)
    with pytest.raises(DegenerateError):
        ps.check(np.ones((2, 100, 2)), normal_score)
