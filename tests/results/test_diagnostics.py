"""R-hat and ESS of draws and scores: worst, by coordinate, when asked for, and as plain data."""

import json
import math
import pickle
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.facts import SPELLINGS, Facts
from polystein.data.sample import as_source
from polystein.inference.convergence import ranked_convergence
from polystein.inference.convergence_of_means import MeansConvergence
from polystein.results import diagnostics
from polystein.results.diagnostics import Convergence, Diagnostics
from polystein.results.sampler import (
    SamplerDiagnostics,
    sampler_diagnostics,
    sampler_words,
    smallest_bfmi,
)
from tests.conftest import Array
from tests.sources import MinimalSource
from tests.statistical.samplers import autoregressive

NAMES = ("a", "b", "c")


def chains() -> Array:
    draws = autoregressive(np.random.default_rng(0), 4, 100, 3, 0.5)
    draws[2, :, 1] += 1.0
    return draws


def sample() -> ps.Sample:
    return ps.Sample(chains(), -(chains() ** 3), names=NAMES)


def lazy() -> Any:
    rows = [(chain, -(chain**3)) for chain in chains()]
    return as_source(MinimalSource(rows, time_ordered=True), None)


def means(rhat: list[float], ess: list[float]) -> MeansConvergence:
    return MeansConvergence(np.array(rhat), np.array(ess))


def of_draws(source: Any = None) -> Convergence:
    given = means([1.0, 1.2, 1.01], [300.0, 20.0, 250.0])
    return Convergence.of(source or sample(), "draws", given)


@pytest.mark.parametrize("make", [sample, lazy])
@pytest.mark.parametrize("what", ["draws", "scores"])
def test_the_worst_and_every_coordinate(make: Any, what: Any) -> None:
    values = chains() if what == "draws" else -(chains() ** 3)
    expected = ranked_convergence(values)
    found = Convergence.of(make(), what)
    assert found.rhat == expected.rhat.max()
    assert found.ess_bulk == expected.ess_bulk.min()
    assert found.ess_tail == expected.ess_tail.min()
    rows = found.by_coordinate()
    assert rows is not None
    assert [row.rhat for row in rows] == expected.rhat.tolist()
    assert [row.ess_bulk for row in rows] == expected.ess_bulk.tolist()
    assert [row.ess_tail for row in rows] == expected.ess_tail.tolist()
    assert [row.name for row in rows] == list(found.names)


def test_coordinates_are_ranked_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnostics, "RANKED_AT_ONCE", 1)
    assert Convergence.of(sample(), "draws").rhat == ranked_convergence(chains()).rhat.max()


def test_ranks_are_taken_once_and_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counted(values: Any) -> Any:
        calls.append(len(values))
        return ranked_convergence(values)

    monkeypatch.setattr(diagnostics, "ranked_convergence", counted)
    found = of_draws()
    assert found.worst_known().rhat == 1.2
    assert calls == []
    assert found.rhat is not None
    assert found.rhat == found.rhat
    assert found.ess_bulk is not None
    assert len(calls) == 1


def test_ranks_replace_means_where_they_are_known() -> None:
    found = of_draws()
    assert found.worst_known() == (1.2, "b", 20.0, "b", False)
    expected = ranked_convergence(chains())
    found.ranked.learn([1])
    worst = found.worst_known()
    assert (worst.rhat, worst.ranked) == (expected.rhat[1], False)
    assert worst.ess == min(expected.ess_bulk[1], expected.ess_tail[1])
    assert found.worst().ranked
    assert found.worst().rhat == expected.rhat.max()


def test_much_is_not_ranked_to_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnostics, "RANKED_FOR_REPORT", 100)
    found = of_draws()
    assert not found.worst().ranked
    assert not of_draws(lazy()).worst().ranked


def test_a_coordinate_that_never_moves_is_named_and_is_not_the_worst() -> None:
    still = np.concatenate([chains(), np.full((4, 100, 1), 2.0)], axis=2)
    found = Convergence.of(ps.Sample(still, -still), "draws", means([1, 1, 1, math.nan], [9.0] * 4))
    assert found.constant() == ("x[3]",)
    assert found.rhat == ranked_convergence(chains()).rhat.max()
    assert found.constant() == ("x[3]",)
    alone = Convergence.of(ps.Sample(still[:, :, 3:], still[:, :, 3:]), "draws")
    assert math.isnan(alone.rhat or 0.0)
    assert alone.constant() == ("x[0]",)


def test_chains_too_short_for_ranks_keep_the_numbers_of_means() -> None:
    short = chains()[:, :3]
    found = Convergence.of(ps.Sample(short, -short), "draws", means([1.0, 1.2, 1.1], [9.0] * 3))
    assert math.isnan(found.ess_bulk or 0.0)
    assert found.worst_known()[:2] == (1.2, "x[1]")
    assert found.constant() == ()


# Pickles and plain data


def test_a_pickle_of_rows_in_memory_knows_the_ranks_and_has_no_rows() -> None:
    again = pickle.loads(pickle.dumps(of_draws()))
    assert again == of_draws()
    assert again.ranked.rows is None
    assert again.by_coordinate() == of_draws().by_coordinate()


def test_a_pickle_of_rows_elsewhere_knows_what_was_asked_for() -> None:
    assert pickle.loads(pickle.dumps(of_draws(lazy()))).rhat is None
    asked = of_draws(lazy())
    assert asked.rhat is not None
    assert pickle.loads(pickle.dumps(asked)).rhat == asked.rhat


@pytest.mark.parametrize("make", [sample, lazy])
@pytest.mark.parametrize("sampler", [None, SamplerDiagnostics(400, 3, None)])
def test_diagnostics_come_back_from_json(make: Any, sampler: Any) -> None:
    source = make()
    given = Diagnostics(of_draws(source), Convergence.of(source, "scores"), sampler)
    values = json.loads(json.dumps(given.to_dict(), allow_nan=False))
    again = Diagnostics.from_dict(values)
    assert again.to_dict() == given.to_dict()
    assert again.draws == given.draws
    assert again.sampler == given.sampler
    assert str(again) == str(given)
    known = make is sample
    assert (again.draws.rhat is not None) is known
    assert (again.scores.by_coordinate() is not None) is known


def test_k_hat_of_independent_rows_comes_back() -> None:
    given = Diagnostics(pareto_k=0.4)
    assert given.of_chains is None
    values = json.loads(json.dumps(given.to_dict(), allow_nan=False))
    assert Diagnostics.from_dict(values) == given
    del values["pareto_k"]  # as results of earlier versions
    assert Diagnostics.from_dict(values).pareto_k is None
    assert str(Diagnostics()) == ""


def test_infinity_and_nan_come_back() -> None:
    frozen = np.broadcast_to(np.arange(4.0)[:, None, None], (4, 50, 2)).copy()
    frozen[:, :, 1] = 1.0
    given = Convergence.of(
        ps.Sample(frozen, -frozen), "draws", means([math.inf, math.nan], [4.0, 200.0])
    )
    again = Convergence.from_dict(json.loads(json.dumps(given.to_dict(), allow_nan=False)))
    assert again.rhat == again.rhat_of_means[0] == math.inf
    assert again.constant() == ("x[1]",)


def test_the_table_is_short_and_says_where_the_worst_is() -> None:
    source = sample()
    both = Diagnostics(
        of_draws(source), Convergence.of(source, "scores"), SamplerDiagnostics(400, 3, 1)
    )
    text = str(both)
    assert [line.split()[0] for line in text.splitlines()] == ["worst", "draws", "scores", "3"]
    assert " b" in text.splitlines()[1]
    assert "without ranks" not in text
    assert "without ranks" in str(Diagnostics(of_draws(lazy()), of_draws(lazy())))


# What the sampler said


@pytest.mark.parametrize("name", SPELLINGS["diverging"])
def test_divergences_are_counted(name: str) -> None:
    statistic = np.zeros((4, 50))
    statistic[1, :3] = 1
    found = sampler_diagnostics(Facts(sampler_statistics={name: statistic, "lp": statistic}))
    assert found == SamplerDiagnostics(200, 3, None)
    assert found.divergent_share == 0.015
    assert sampler_words(found) == "3 of 200 draws diverged (1.5 %)"


@pytest.mark.parametrize("name", SPELLINGS["reached_max_treedepth"])
def test_saturations_are_counted(name: str) -> None:
    found = sampler_diagnostics(Facts(sampler_statistics={name: np.ones((2, 5), dtype=bool)}))
    assert found == SamplerDiagnostics(10, None, 10)
    assert found.divergent_share == 0.0
    assert sampler_words(found) == "10 reached the greatest depth of the tree"


def test_without_statistics_there_is_nothing_to_say() -> None:
    assert sampler_diagnostics(Facts()) is None
    assert sampler_diagnostics(Facts(sampler_statistics={"energy": np.ones((2, 5))})) is None


def test_energy_of_the_worst_chain() -> None:
    energy = np.random.default_rng(1).standard_normal((2, 50))
    expected = [np.mean(np.diff(row) ** 2) / np.mean((row - row.mean()) ** 2) for row in energy]
    assert smallest_bfmi(energy) == pytest.approx(min(expected))
    assert smallest_bfmi(np.linspace(0.0, 1.0, 50)) < 0.3  # type: ignore[operator]


@pytest.mark.parametrize("energy", [np.zeros((2, 2)), np.ones((2, 50)), np.full((1, 9), np.nan)])
def test_energies_that_say_nothing(energy: Array) -> None:
    assert smallest_bfmi(energy) is None
