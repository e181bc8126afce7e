"""`assert_draws_from`: what passes, what fails, what stays undecided, and bad input."""

import re
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, norm

import polystein as ps
from polystein.data.target import Target
from polystein.testing.draws_from import (
    FEW_DRAWS,
    FEWEST,
    FEWEST_SKEWED,
    PILOTS,
    PLANNED,
    planned_looks,
)
from polystein.testing.outcome import SamplerTest, marked


def normal(seed: int, n: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, 2))


SHIFT = np.array([0.1, 0.0])


def minus(x: np.ndarray) -> np.ndarray:
    return -x


def failed(error: pytest.ExceptionInfo[ps.FaultError]) -> SamplerTest:
    assert isinstance(error.value, AssertionError)
    result = error.value.result
    assert isinstance(result, SamplerTest)
    assert result.outcome == "failed"
    return result


def test_a_correct_sampler_passes_and_would_have_noticed() -> None:
    result = ps.testing.assert_draws_from(normal, minus)
    assert (result.outcome, result.false_alarm, result.effects) == ("passed", 1e-3, ())
    assert result.noticed.mean <= 0.1
    assert result.noticed.sd <= 0.05
    assert result.needed == result.draws < 30_000
    assert "would have been noticed" in str(result)


@pytest.mark.parametrize(
    ("wrong", "words", "size"),
    [
        (lambda x: 0.93 * x, "the sd of `x[0]` is off by -", -0.07),
        (lambda x: x + np.array([0.0, 0.15]), "the mean of `x[1]` is off by +", 0.15),
        (lambda x: x @ [[1.0, 0.2], [0.0, 1.0]], "the dependence of `x[", 0.2),
    ],
)
def test_what_is_wrong_is_named_with_its_size(wrong: Any, words: str, size: float) -> None:
    sizes = []
    for rng in range(5):
        with pytest.raises(ps.FaultError) as error:
            ps.testing.assert_draws_from(lambda seed, n: wrong(normal(seed, n)), minus, rng=rng)
        result = failed(error)
        assert words in str(error.value)
        first, second, *_, last = result.seeds
        assert f"{len(result.seeds)} seeds" in str(error.value)
        assert f"{first}, {second}, ..., {last}" in str(error.value)
        assert result.effects[0].pvalue <= result.false_alarm
        sizes.append(result.effects[0].size)
    assert np.mean(sizes) == pytest.approx(size, abs=0.03)


def test_a_gross_fault_takes_the_first_look() -> None:
    with pytest.raises(ps.FaultError) as error:
        ps.testing.assert_draws_from(
            lambda seed, n: 2.0 * normal(seed, n), minus, detect=(0.05, 0.05), n=20
        )
    assert failed(error).draws == (PILOTS + FEWEST) * 20


@pytest.mark.parametrize(
    ("n", "seeds"), [(1, FEWEST_SKEWED), (FEW_DRAWS - 1, FEWEST_SKEWED), (FEW_DRAWS, FEWEST)]
)
def test_few_draws_of_a_seed_take_more_seeds(n: int, seeds: int) -> None:
    found = ps.testing.assert_draws_from(normal, minus, n=n, detect=(9.0, 9.0))
    assert found.draws == (PILOTS + seeds) * n
    with pytest.raises(ps.InputError, match=f"{PILOTS + seeds} seeds of n = {n};"):
        ps.testing.assert_draws_from(normal, minus, n=n, budget=(PILOTS + seeds) * n - 1)


def test_a_normal_law_in_place_of_two_modes_is_a_matter_of_shape() -> None:
    """Draws of N(0, 1 + 1.5²) for two modes at ±1.5: means and sds are right."""

    def score(x: np.ndarray) -> np.ndarray:
        return -x + 1.5 * np.tanh(1.5 * x)

    with pytest.raises(ps.FaultError) as error:
        ps.testing.assert_draws_from(lambda s, n: np.hypot(1.0, 1.5) * normal(s, n)[:, :1], score)
    assert any(effect.kind == "shape" for effect in failed(error).effects)


def test_what_the_budget_cannot_tell_is_undecided() -> None:
    with pytest.raises(ps.UndecidedError, match="takes about") as error:
        ps.testing.assert_draws_from(normal, minus, detect=(0.01, 0.01), n=20, budget=4_000)
    result = error.value.result
    assert isinstance(result, SamplerTest)
    assert (result.outcome, result.draws) == ("undecided", 4_000)
    # A fixed-n test of an sd at this rate takes some (4.0 + 1.6)² / 2 / 0.01² draws.
    assert 100_000 < result.needed < 1_000_000


def test_fewer_rows_than_coordinates_say_nothing_about_what_is_noticed() -> None:
    with pytest.raises(ps.UndecidedError, match="too few to say what would have been noticed"):
        ps.testing.assert_draws_from(
            lambda s, n: np.random.default_rng(s).standard_normal((n, 120)), minus, n=1, budget=140
        )


def test_the_same_rng_gives_the_same_test_and_another_one_other_seeds() -> None:
    first, again, other = (ps.testing.assert_draws_from(normal, minus, rng=k) for k in (1, 1, 2))
    assert first == again
    assert first.seeds != other.seeds
    with pytest.raises(ps.InputError, match="ask for its `outcome`"):
        bool(first)


def paste(line: str, **names: Any) -> SamplerTest:
    """What a printed call raises."""
    with pytest.raises(ps.PolysteinError) as error:
        eval(line, {"ps": ps, **names})
    result = error.value.result  # type: ignore[attr-defined]
    assert isinstance(result, SamplerTest)
    return result


@pytest.mark.parametrize(
    "rng",
    [5, np.int64(6), np.random.SeedSequence(7).spawn(2)[1], np.random.default_rng(8), None],
    ids=["int", "NumPy int", "SeedSequence", "Generator", "None"],
)
def test_the_printed_call_fails_as_the_test_did(rng: Any) -> None:
    def sampler(seed: int, n: int) -> np.ndarray:
        return 1.1 * normal(seed, n)

    with pytest.raises(ps.FaultError) as error:
        ps.testing.assert_draws_from(
            sampler, minus, n=20, false_alarm=0.004, detect=(0.3, 0.07), budget=9_999, rng=rng
        )
    (line,) = re.findall("To run it again: (.*)", str(error.value))
    assert paste(line, sampler=sampler, target=minus) == failed(error)


def test_the_printed_call_of_an_open_test_is_open_too() -> None:
    with pytest.raises(ps.UndecidedError) as error:
        ps.testing.assert_draws_from(normal, minus, detect=(0.01, 0.01), n=20, budget=4_000)
    (line,) = re.findall("To run it again: (.*)", str(error.value))
    assert paste(line, sampler=normal, target=minus) == error.value.result


def test_the_sampler_gets_the_seeds_of_the_result_and_so_many_draws() -> None:
    given: list[tuple[int, int]] = []

    def sampler(seed: int, n: int) -> np.ndarray:
        given.append((seed, n))
        return normal(seed, n)

    result = ps.testing.assert_draws_from(sampler, minus)
    assert given == [(seed, 100) for seed in result.seeds]
    assert all(type(seed) is int for seed in result.seeds)
    assert "seeds=" not in repr(result)


def of_four_chains(seed: int, n: int) -> np.ndarray:
    """Chains with the seeds s, s + 1, s + 2 and s + 3."""
    return np.stack([normal(seed + chain, n // 4) for chain in range(4)])


def test_chains_that_add_to_their_seed_share_none_with_another_seed() -> None:
    result = ps.testing.assert_draws_from(of_four_chains, minus)
    assert len({seed + chain for seed in result.seeds for chain in range(4)}) == 4 * len(
        result.seeds
    )


@pytest.mark.slow
def test_samplers_that_add_to_their_seed_keep_the_rate() -> None:
    alarms, runs = 0, 400
    for k in range(runs):
        try:
            ps.testing.assert_draws_from(of_four_chains, minus, rng=k, detect=(0.2, 0.1))
        except ps.FaultError:
            alarms += 1
    assert alarms <= binom.ppf(0.999, runs, 1e-3)


def test_a_target_and_a_sample_give_names_and_chains_are_taken() -> None:
    def density(x: np.ndarray) -> np.ndarray:
        return -0.5 * np.sum(x**2, axis=1)

    def chains(seed: int, n: int) -> np.ndarray:
        return 0.8 * normal(seed, n).reshape(2, n // 2, 2)

    without = Target.of_functions(2, density, None, names=("a", "b"))
    facts: Any = {"log_density": density}
    sample = ps.Sample(normal(1, 100), minus, names=["a", "b"], facts=facts)
    for target in (without, without.with_score(minus), sample):
        with pytest.raises(ps.FaultError, match="the sd of `a`"):
            ps.testing.assert_draws_from(chains, target)


def test_the_marker_gives_the_rate_that_a_call_does_not() -> None:
    with marked(0.02):
        assert ps.testing.assert_draws_from(normal, minus).false_alarm == 0.02
        assert ps.testing.assert_draws_from(normal, minus, false_alarm=0.1).false_alarm == 0.1
    assert ps.testing.assert_draws_from(normal, minus).false_alarm == 1e-3


@pytest.mark.parametrize("fewest", [FEWEST, FEWEST_SKEWED])
@pytest.mark.parametrize("planned", [100, 149, 150, 1000, 12345])
def test_looks_share_no_more_than_the_level(planned: int, fewest: int) -> None:
    looks = planned_looks(planned, fewest)
    assert looks[0].seeds in (fewest, planned)
    assert looks[-1] == (planned, PLANNED)
    assert sum(look.share for look in looks) <= 0.75  # the rest is for looks after the planned one
    assert [look.seeds for look in looks] == sorted(look.seeds for look in looks)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sampler": lambda seed, n: np.ones((n, 2))}, "use its seed"),
        ({"sampler": lambda seed, n: normal(seed % 5, n)}, "only 5 different results"),
        (
            {"sampler": lambda seed, n: normal(seed % 40, n), "detect": (0.01, 0.01)},
            "92 seeds have only [34][0-9] different results",
        ),
        ({"sampler": lambda seed, n: normal(seed, n)[:, seed % 2 :]}, "got 1 and 2"),
        ({"sampler": lambda seed, n: normal(seed, n) * [1.0, 0.0]}, r"`x\[1\]` is the same"),
        ({"sampler": lambda seed, n: normal(seed, n + 1)}, "must return 100 finite draws"),
        ({"sampler": lambda seed, n: np.nan * normal(seed, n)}, "not finite"),
        ({"sampler": lambda seed, n: ["a"] * n}, "real draws"),
        ({"sampler": lambda seed: normal(seed, 10)}, "`sampler` raised TypeError"),
        ({"target": lambda x: x[:, :1]}, "`target` must give finite scores"),
        ({"target": 3}, "`target` must be a score function"),
        ({"detect": 0.1}, r"`detect` must be a pair"),
        ({"detect": (0.1, 0.0)}, "two positive numbers"),
        ({"false_alarm": 0.5}, "`false_alarm` must be"),
        ({"budget": 1000}, "`budget` must be at least 9,200 draws"),
        ({"n": 0}, "`n` must be a positive integer"),
    ],
)
def test_bad_input_is_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ps.InputError, match=words):
        ps.testing.assert_draws_from(**{"sampler": normal, "target": minus, **options})


def test_scores_of_another_scale_are_an_error() -> None:
    with pytest.raises(ps.ScaleError, match="same scale"):
        ps.testing.assert_draws_from(lambda s, n: 1e60 * normal(s, n), lambda x: -x)


@pytest.mark.slow
def test_a_correct_sampler_takes_at_most_three_times_the_draws_of_a_fixed_test() -> None:
    """A fixed test knows the sds, takes the whole level at once, and has the same features."""
    shares = 0.35 / 2
    critical = norm.isf(1e-3 * shares / 2) + norm.isf(0.05)
    fixed = max((critical / 0.1) ** 2, (critical / 0.05) ** 2 / 2.0)
    taken = [ps.testing.assert_draws_from(normal, minus, rng=k).draws for k in range(200)]
    assert np.mean(taken) <= 3.0 * fixed


@pytest.mark.slow
def test_what_is_to_be_detected_is_detected_in_95_of_100_runs() -> None:
    found = 0
    for k in range(200):
        try:
            ps.testing.assert_draws_from(lambda s, n: normal(s, n) + SHIFT, minus, rng=k, n=40)
        except ps.FaultError:
            found += 1
    assert found >= binom.ppf(0.001, 200, 0.95)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["means", "sds"])
def test_what_correlated_coordinates_are_to_show_is_detected(what: str) -> None:
    """20 coordinates with correlation 0.9; the first principal axis alone is moved or longer."""
    root = np.linalg.cholesky(np.full((20, 20), 0.9) + 0.1 * np.eye(20))
    precision = np.linalg.inv(root @ root.T)
    # The mean has the variance 0.905 where coordinates have 1: an sd is longer by 0.05.
    longer = np.sqrt((1.05**2 - 0.095) / 0.905) - 1.0

    def wrong(seed: int, n: int) -> np.ndarray:
        draws = np.random.default_rng(seed).standard_normal((n, 20)) @ root.T
        added = 0.1 if what == "means" else longer * draws.mean(axis=1, keepdims=True)
        return draws + added

    found = 0
    for k in range(40):
        try:
            ps.testing.assert_draws_from(wrong, lambda x: -x @ precision, rng=k)
        except ps.FaultError:
            found += 1
    assert found >= binom.ppf(0.001, 40, 0.95)
