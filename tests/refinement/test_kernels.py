"""Steps are what they should be, and every kind of step is reversible."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import polystein.refinement.kernels as kernels
from polystein.data.target import Target
from polystein.refinement.kernels import LEAPFROG_STEPS, Kernel, State
from tests.reference.refinement import hamiltonian_proposal
from tests.refinement.laws import (
    FACTOR,
    gaussian,
    gaussian_density,
    gaussian_score,
    kernel,
    log_gamma,
    state,
)
from tests.statistical.samplers_laws import with_slab


def only(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every step be of one kind."""
    for name in ("WITH_GRADIENT", "WITHOUT"):
        shares = dict.fromkeys(getattr(kernels, name), 0.0)
        if kind in shares:
            monkeypatch.setattr(kernels, name, shares | {kind: 1.0})


def test_a_trajectory_is_that_of_one_row_after_another() -> None:
    rng = np.random.default_rng(0)
    made = replace(kernel(gaussian()), factor=FACTOR)
    rows, momentum = rng.standard_normal((20, 2)), rng.standard_normal((20, 2))
    steps = rng.uniform(0.05, 0.6, size=20)
    start = state(made, rows)
    ends, kinetic, given_up = made._trajectories(start, steps, momentum)
    assert not given_up.any()
    for row in range(20):
        expected, loss = hamiltonian_proposal(
            lambda x: float(gaussian_density(x[None])[0]),
            lambda x: gaussian_score(x[None])[0],
            rows[row],
            momentum[row],
            FACTOR,
            float(steps[row]),
            LEAPFROG_STEPS,
        )
        assert ends.position[row] == pytest.approx(expected, rel=1e-10, abs=1e-12)
        found = start.density[row] - ends.density[row] + kinetic[row]
        assert found == pytest.approx(loss, rel=1e-9, abs=1e-11)


def test_a_trajectory_the_other_way_round_leads_back() -> None:
    rng = np.random.default_rng(1)
    made = kernel(log_gamma())
    rows = np.log(rng.gamma(2.0, size=(30, 1)))
    momentum, steps = rng.standard_normal((30, 1)), np.full(30, 0.2)
    seen: list[State] = []

    def watched(points: np.ndarray, instead: np.ndarray) -> State:
        seen.append(made.evaluate(points, instead))
        return seen[-1]

    watching = replace(made, evaluate=watched)  # type: ignore[arg-type]
    ends, kinetic, _ = watching._trajectories(state(made, rows), steps, momentum)
    # The momentum at the end, from the last half step of position and score.
    last, before = seen[-1], seen[-2]
    middle = (last.position - before.position) / 0.2
    final = middle + 0.1 * last.score
    back, kinetic_back, _ = made._trajectories(ends, steps, -final)
    assert back.position == pytest.approx(rows, rel=1e-9, abs=1e-9)
    assert kinetic_back == pytest.approx(-kinetic, abs=1e-9)


CASES: list[tuple[str, bool]] = [
    ("trajectory", True),
    ("scale", True),
    ("jump", True),
    ("walk", False),
    ("difference", False),
]


@pytest.mark.parametrize(("kind", "gradient"), CASES)
def test_every_kind_is_reversible(
    kind: str, gradient: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Detailed balance: moves from one part of the line to another are as frequent as back."""
    only(kind, monkeypatch)
    rng = np.random.default_rng(2)
    made = kernel(log_gamma(gradient), step=0.5, centres=np.array([[0.0], [1.3]]))
    rows = np.log(rng.gamma(2.0, size=(60_000, 1)))
    start = state(made, rows)
    end, moves = made.step_of(start, rng)
    assert 0.05 < moves.accepted.mean() < 1.0
    edges = np.quantile(rows, [0.2, 0.4, 0.6, 0.8])
    cells = [np.searchsorted(edges, part.position[:, 0]) for part in (start, end)]
    table = np.zeros((5, 5))
    np.add.at(table, tuple(cells), 1.0)
    upper = np.triu_indices(5, 1)
    there, back = table[upper], table.T[upper]
    used = there + back > 0.0
    statistic = float(((there - back)[used] ** 2 / (there + back)[used]).sum())
    assert stats.chi2.sf(statistic, int(used.sum())) > 0.001


def test_scale_moves_reach_a_wide_slab_and_keep_its_weight(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the Jacobian e^{ud} rows that miss a slab find it, in ten dimensions as well."""
    only("scale", monkeypatch)
    law, rng = with_slab(10, 0.05), np.random.default_rng(6)
    target = Target.of_functions(10, law.log_density, law.score)
    made = replace(kernel(target), scale_bounds=np.array([2.0, 2.6]), scale_chances=np.array([1.0]))
    assert kernels.SCALE_MOVES[True] == LEAPFROG_STEPS
    right = rng.standard_normal((4000, 10)) * np.where(rng.random((4000, 1)) < 0.05, 10.0, 1.0)
    for rows in (right, rng.standard_normal((4000, 10))):
        now = state(made, rows)
        for _ in range(10):
            now, moves = made.step_of(now, rng)
        wide = int((np.linalg.norm(now.position, axis=1) > 10.0).sum())
        assert stats.binomtest(wide, 4000, 0.05).pvalue > 0.001
        assert moves.accepted.mean() < 0.5


@pytest.mark.parametrize("gradient", [True, False])
def test_the_target_is_left_invariant(gradient: bool) -> None:
    rng = np.random.default_rng(3)
    made = kernel(log_gamma(gradient), step=0.5, centres=np.array([[0.0], [1.3]]))
    now = state(made, np.log(rng.gamma(2.0, size=(8000, 1))))
    for _ in range(10):
        now, _ = made.step_of(now, rng)
    assert stats.kstest(np.exp(now.position[:, 0]), stats.gamma(2.0).cdf).pvalue > 0.001


def test_kinds_do_not_depend_on_the_rows() -> None:
    made = kernel(gaussian())
    found = [
        made.step_of(state(made, scale * np.ones((500, 2))), np.random.default_rng(4))[1]
        for scale in (0.1, 5.0)
    ]
    assert np.array_equal(found[0].kind, found[1].kind)
    assert np.array_equal(found[0].factor, found[1].factor)
    small = np.mean(found[0].factor < 0.8)
    assert 0.2 < small < 0.35


def outside(x: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        found: np.ndarray = np.log(x[:, 0]) - x[:, 0]
    return found


@pytest.mark.parametrize("density", [outside, lambda x: np.where(x[:, 0] > 0.0, -x[:, 0], -np.inf)])
@pytest.mark.parametrize("gradient", [True, False])
def test_rows_never_leave_the_support(
    density: Callable[[np.ndarray], np.ndarray], gradient: bool
) -> None:
    rng = np.random.default_rng(5)
    target = Target.of_functions(
        1, density, (lambda x: np.where(x > 0.0, 1.0 / x - 1.0, np.nan)) if gradient else None
    )
    made = kernel(target, step=1.0)
    now = state(made, rng.gamma(2.0, size=(500, 1)))
    for _ in range(20):
        now, _ = made.step_of(now, rng)
    assert (now.position > 0.0).all()
    assert np.isfinite(now.density).all()


def test_rows_beyond_all_bounds_are_not_evaluated() -> None:
    def density(x: np.ndarray) -> np.ndarray:
        assert np.abs(x).max() < 10.0
        return -0.5 * (x**2).sum(axis=1)

    made = kernel(Target(1, density))
    rows = np.array([[np.inf], [np.nan], [1e200], [1.0]])
    found = made.evaluate(rows, np.zeros((4, 1)))
    assert found.density.tolist() == [-np.inf, -np.inf, -np.inf, -0.5]
    assert made.evaluate.count == 4


def test_jumps_need_a_second_group() -> None:
    alone: Kernel = kernel(gaussian())
    assert "jump" not in alone.kinds
    two = kernel(gaussian(), centres=np.array([[0.0, 0.0], [5.0, 0.0]]))
    assert two.kinds["jump"] > 0.0
    for made in (alone, two):
        assert sum(made.kinds.values()) == pytest.approx(1.0)
