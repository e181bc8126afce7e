"""`refine` as a whole: what it says of right and wrong draws, and what it refuses."""

import json
import pickle
import re
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.errors import InputError
from polystein.types import FloatArray
from tests.statistical.samplers_laws import correlated, mixture

LAW = correlated(3)
DRAWS = LAW.draw(np.random.default_rng(0), 900)
FUNCTIONS: dict[str, Any] = {"log_density": LAW.log_density, "scores": LAW.score}
SMALL: dict[str, Any] = {"starts": 400, "transitions": 10}


def wrong() -> FloatArray:
    draws = DRAWS.copy()
    draws[:, 1] *= 0.7
    return draws


@pytest.fixture(scope="module")
def refined() -> ps.Refinement:
    return ps.refine(wrong(), **FUNCTIONS, **SMALL, tolerance=0.2)


def test_wrong_draws_are_rejected_and_sized(refined: ps.Refinement) -> None:
    assert refined.verdict == "rejected"
    assert refined.settled
    assert refined.still_moving == ()
    row = refined.effects["x[1]", "sd"]
    assert row.found
    assert row.lower < 0.7 < row.upper
    assert refined.tolerance == "beyond"
    assert "x[1]" in refined.tolerance_reason


def test_the_moved_draws_are_better(refined: ps.Refinement) -> None:
    sample = refined.draws
    assert sample.layout.total == refined.starts == 400
    assert sample.target is not None
    assert np.asarray(sample.draws).std(axis=0) == pytest.approx(np.ones(3), abs=0.12)
    assert np.asarray(sample.scores) == pytest.approx(LAW.score(np.asarray(sample.draws)))
    assert ps.check(sample, iid=True).verdict == "not rejected"


def test_right_draws_are_not_rejected() -> None:
    found = ps.refine(DRAWS, **FUNCTIONS, **SMALL, tolerance=0.4)
    assert found.verdict == "not rejected"
    assert found.effects.found == ()
    assert found.tolerance == "within"
    assert "as far as" in found.tolerance_reason


def test_without_gradients_it_says_the_same() -> None:
    found = ps.refine(wrong(), log_density=LAW.log_density, **SMALL)
    assert found.kernel == "Metropolis"
    assert found.verdict == "rejected"
    assert found.effects["x[1]", "sd"].found
    moved = found.draws
    assert np.asarray(moved.scores) == pytest.approx(LAW.score(np.asarray(moved.draws)), abs=1e-5)


def test_the_balance_of_modes_is_seen() -> None:
    law = mixture(3, drawn=0.25)
    draws = law.draw(np.random.default_rng(1), 1000)
    found = ps.refine(draws, log_density=law.log_density, scores=law.score, starts=500)
    assert found.groups >= 2
    assert found.verdict == "rejected"
    share = np.mean(np.asarray(found.draws.draws)[:, 0] > 4.0)
    assert share == pytest.approx(0.5, abs=0.1)


def test_samples_carry_the_target_and_names() -> None:
    names = ["a", "b", "c"]
    facts = {
        "log_density": LAW.log_density,
        "transform": lambda x: {"scale": np.exp(x[:, 1])},
        "warnings": ("seen before",),
    }
    sample = ps.Sample(wrong(), LAW.score, names=names, facts=facts)
    found = ps.refine(sample, **SMALL, functions={"sum": lambda x: x.sum(axis=1)})
    assert found.warnings == ("seen before",)
    assert found.kernel == "HMC"
    assert found.draws.names == tuple(names)
    assert {row.name for row in found.effects} == {"a", "b", "c", "scale", "sum"}
    assert found.effects["b", "sd"].found


def test_chains_are_flipped_in_batches() -> None:
    rng = np.random.default_rng(2)
    chains = np.empty((4, 600, 2))
    chains[:, 0] = rng.standard_normal((4, 2))
    for time in range(1, 600):
        chains[:, time] = 0.9 * chains[:, time - 1] + 0.19**0.5 * rng.standard_normal((4, 2))
    found = ps.refine(
        chains,
        log_density=lambda x: -0.5 * (x**2).sum(axis=1),
        scores=lambda x: -x,
        starts=500,
    )
    assert found.verdict == "not rejected"
    assert found.effects.rows[0].df < 100.0


def test_slow_chains_leave_the_question_open() -> None:
    rng = np.random.default_rng(3)
    chain = np.empty((400, 1))
    chain[0] = 0.0
    for time in range(1, 400):
        chain[time] = 0.99 * chain[time - 1] + 0.0199**0.5 * rng.standard_normal(1)
    found = ps.refine(
        chain, log_density=lambda x: -0.5 * (x**2).sum(axis=1), scores=lambda x: -x, transitions=4
    )
    assert found.reasons
    assert "batches" in found.reasons[0]


def test_rows_that_hardly_move_leave_the_question_open() -> None:
    def rough(x: FloatArray) -> FloatArray:
        """Every point has a value of its own."""
        found: FloatArray = 1e4 * np.sin(1e9 * x).sum(axis=1)
        return found

    found = ps.refine(DRAWS[:100], log_density=rough, starts=50, transitions=4)
    assert "hardly" in found.reasons[0]
    assert not found.settled
    assert all(np.isnan(row.size) for row in found.effects)


def test_the_same_seed_gives_the_same_result(refined: ps.Refinement) -> None:
    again = ps.refine(wrong(), **FUNCTIONS, **SMALL, tolerance=0.2)
    assert again == refined
    other = ps.refine(wrong(), **FUNCTIONS, **SMALL, tolerance=0.2, rng=1)
    assert other.statistic != refined.statistic


def test_inputs_stay_as_they_are_and_progress_is_told() -> None:
    draws, told = wrong(), []
    before = draws.copy()
    ps.refine(draws, **FUNCTIONS, **SMALL, progress=lambda done, total: told.append((done, total)))
    assert np.array_equal(draws, before)
    assert told[-1][0] == told[-1][1]
    assert len(told) >= 10


def test_results_survive_dictionaries_and_pickling(refined: ps.Refinement) -> None:
    again = ps.Refinement.from_dict(json.loads(json.dumps(refined.to_dict())))
    assert again.to_dict() == refined.to_dict()
    assert str(again) == str(refined)
    with pytest.raises(InputError, match="`draws` must be taken before"):
        _ = again.draws
    unpickled = pickle.loads(pickle.dumps(refined))
    assert unpickled == refined
    assert unpickled.draws.target is None
    with pytest.raises(InputError, match="schema_version"):
        ps.Refinement.from_dict({**refined.to_dict(), "schema_version": 9})
    with pytest.raises(InputError, match="must be what `to_dict` gave"):
        ps.Refinement.from_dict({"schema_version": 1})


def test_text_has_verdict_effects_and_what_stays_unseen(refined: ps.Refinement) -> None:
    text = str(refined)
    assert text.startswith("Rejected at the level 0.05, p ")
    assert "refine, 400 draws moved, dimension 3" in text.splitlines()[1]
    assert "the sd of `x[1]`" in text
    assert "if neither the draws nor the pilots found a mode" in text
    assert repr(refined) == f"Refinement(rejected, p = {refined.pvalue:.3g}, settled)"
    assert len(text.splitlines()) <= 24
    assert max(map(len, text.splitlines())) <= 88
    assert "the sd of <code>x[1]</code>" in refined._repr_html_()


def test_what_has_not_settled_is_said() -> None:
    """Neal's funnel, whose neck takes much longer than two transitions."""

    def log_density(x: FloatArray) -> FloatArray:
        squares = (x[:, 1:] ** 2).sum(axis=1)
        found: FloatArray = (
            -(x[:, 0] ** 2) / 18.0 - 2.5 * x[:, 0] - 0.5 * np.exp(-x[:, 0]) * squares
        )
        return found

    def score(x: FloatArray) -> FloatArray:
        weight = np.exp(-x[:, :1])
        of_v = -x[:, :1] / 9.0 - 2.5 + 0.5 * weight * (x[:, 1:] ** 2).sum(axis=1, keepdims=True)
        return np.column_stack([of_v, -weight * x[:, 1:]])

    found = ps.refine(
        np.random.default_rng(4).standard_normal((600, 6)),
        log_density=log_density,
        scores=score,
        transitions=2,
        starts=200,
        tolerance=0.2,
    )
    assert not found.settled
    assert found.tolerance == "undecided"
    assert "have not settled" in found.tolerance_reason
    assert "sizes and signs are not told" in str(found)
    assert found.verdict == "rejected"
    assert found.to_dict()["statistic"] > 0.0
    assert f"(|t| = {found.statistic:.1f})" in str(found)


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((DRAWS,), {}, "`log_density` must be given with a"),
        ((ps.Sample(DRAWS, -DRAWS),), {}, "`draws` must know their target"),
        ((DRAWS,), {"scores": LAW.score}, "`log_density` must be given with `scores`"),
        ((DRAWS,), {"log_density": 3}, "`log_density` must be a function"),
        ((DRAWS,), {**FUNCTIONS, "scores": -DRAWS}, "`scores` must be a function"),
        ((DRAWS[:50],), FUNCTIONS, "at least 60 rows"),
        ((DRAWS,), {**FUNCTIONS, "transitions": 1}, "`transitions` must be an integer >= 2"),
        ((DRAWS,), {**FUNCTIONS, "starts": 3}, "`starts` must be an integer >= 20"),
        ((DRAWS,), {**FUNCTIONS, "tolerance": 2.0}, "`tolerance` must be a number"),
        ((DRAWS,), {**FUNCTIONS, "functions": [np.sum]}, "`functions` must be a mapping"),
        (
            (DRAWS,),
            {**FUNCTIONS, "functions": {"x[0]": lambda x: x[:, 0] ** 2}},
            "`functions` must have names of their own; got 'x[0]'",
        ),
        ((DRAWS,), {**FUNCTIONS, "model": object()}, "`log_density` must not be given with"),
        (
            (ps.Sample(DRAWS, -DRAWS, log_weights=np.zeros(900)),),
            FUNCTIONS,
            "`log_weights` must be None",
        ),
        (
            (DRAWS,),
            {"log_density": LAW.log_density, "scores": lambda x: -LAW.score(x)},
            "Their sign is wrong",
        ),
        (
            (DRAWS,),
            {"log_density": lambda x: np.where(x[:, 0] > 0.0, -x[:, 0], -np.inf)},
            "must be finite at the draws; got -inf",
        ),
        ((DRAWS,), {"log_density": lambda x: np.full(len(x), np.nan)}, "got nan"),
        ((DRAWS,), {"log_density": lambda x: x}, "`log_density` must return a real number"),
    ],
)
def test_what_cannot_be_refined_is_refused(
    arguments: tuple[Any, ...], options: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        ps.refine(*arguments, **options)


@pytest.mark.slow
def test_steps_that_are_hardly_accepted_leave_the_question_open() -> None:
    def spikes(x: FloatArray) -> FloatArray:
        """Only the draws themselves have any density: no step leads to another of them."""
        known = np.isin(x, DRAWS).all(axis=1)
        return np.where(known, 0.0, -np.inf)

    found = ps.refine(DRAWS[:100], log_density=spikes, starts=50, transitions=4)
    assert found.verdict == "inconclusive"
    assert "hardly accepted" in found.reasons[0]
    assert found.pvalue == 1.0


@pytest.mark.parametrize("fact", ["functions", "transform"])
def test_functions_that_fail_do_so_before_the_runs(fact: str) -> None:
    calls = []

    def counted(x: FloatArray) -> FloatArray:
        calls.append(len(x))
        return LAW.log_density(x)

    def fails(x: FloatArray) -> FloatArray:
        raise KeyError("on purpose")

    facts = {"log_density": counted} | ({"transform": fails} if fact == "transform" else {})
    own = {"f": fails} if fact == "functions" else None
    with pytest.raises(InputError, match=rf"`{fact}.* raised KeyError"):
        ps.refine(ps.Sample(DRAWS, LAW.score, facts=facts), functions=own)
    assert sum(calls) < 2 * len(DRAWS)


@pytest.mark.parametrize("name", ["log_density", "scores"])
def test_functions_that_fail_outside_the_support_are_named(name: str) -> None:
    def strict(x: FloatArray) -> FloatArray:
        if (np.abs(x) > np.abs(DRAWS).max()).any():
            raise ValueError("outside")
        return FUNCTIONS[name](x)  # type: ignore[no-any-return]

    with pytest.raises(InputError, match=f"`{name}` raised ValueError: outside. It must .* -inf"):
        ps.refine(DRAWS, **{**FUNCTIONS, name: strict}, **SMALL)


def test_parameters_with_one_value_are_left_out_and_functions_are_kept() -> None:
    """The diagonal of a correlation matrix must not leave every tolerance open."""
    facts = {
        "log_density": LAW.log_density,
        "transform": lambda x: {"diagonal": np.ones(len(x)), "wide": 2.0 * x[:, 0]},
    }
    sample = ps.Sample(DRAWS, LAW.score, facts=facts)
    found = ps.refine(sample, **SMALL, tolerance=0.4)
    assert {row.name for row in found.effects} == {"x[0]", "x[1]", "x[2]", "wide"}
    assert found.tolerance == "within"
    own = {"never": lambda x: np.zeros(len(x))}
    found = ps.refine(sample, **SMALL, tolerance=0.4, functions=own)
    assert found.tolerance == "undecided"
    assert "`never`" in found.tolerance_reason


@pytest.mark.slow
def test_what_a_narrower_answer_takes_is_there_to_be_had() -> None:
    few = ps.refine(DRAWS, **FUNCTIONS, **SMALL, tolerance=0.02)
    assert few.tolerance_reason.endswith("It takes more `starts`")
    everything = ps.refine(DRAWS, **FUNCTIONS, transitions=60, starts=2000, tolerance=0.02)
    assert everything.tolerance_reason.endswith("It takes more draws")


def test_a_random_log_density_is_refused_with_and_without_scores() -> None:
    rng = np.random.default_rng(3)

    def random(rows: FloatArray) -> FloatArray:
        return LAW.log_density(rows) + rng.standard_normal(len(rows))

    for scores in (LAW.score, None):
        with pytest.raises(InputError, match="`log_density` must give the same for a draw"):
            ps.refine(DRAWS, log_density=random, scores=scores, **SMALL)


def test_single_precision_changes_no_verdict() -> None:
    """Values of -30,000 have steps of 0.002 in single precision."""

    def single(rows: FloatArray) -> FloatArray:
        return (LAW.log_density(rows) - 3e4).astype(np.float32)

    for draws, verdict in ((DRAWS, "not rejected"), (wrong(), "rejected")):
        scores = {"scores": lambda x: LAW.score(x).astype(np.float32)}
        found = ps.refine(draws, log_density=single, **scores, **SMALL)
        assert found.verdict == verdict
