"""What the pilots choose: mass, step size, centres, scales, the number of steps."""

import numpy as np
import pytest
from scipy.stats import binomtest

from polystein.data.target import Target
from polystein.refinement.kernels import Evaluations
from polystein.refinement.pilots import MOST_DOUBLINGS, piloted
from polystein.types import FloatArray
from tests.statistical.samplers_laws import Law, correlated, mixture, with_slab


def pilots_of(law: Law, rows: FloatArray, *, gradient: bool = True, steps: int = 10):  # type: ignore[no-untyped-def]
    target = Target.of_functions(rows.shape[1], law.log_density, law.score if gradient else None)
    evaluate = Evaluations(target)
    return piloted(evaluate, evaluate(rows, rows), steps, np.random.default_rng(1))


@pytest.mark.parametrize("gradient", [True, False])
def test_narrow_pilots_find_the_covariance(gradient: bool) -> None:
    law, rng = correlated(4), np.random.default_rng(0)
    rows = 0.3 * law.draw(rng, 300) + 0.5
    found = pilots_of(law, rows, gradient=gradient, steps=10 if gradient else 100)
    covariance = found.kernel.factor @ found.kernel.factor.T
    assert covariance == pytest.approx(0.7 + 0.3 * np.eye(4), abs=0.3)
    assert found.steps < (10 if gradient else 100) * 2**MOST_DOUBLINGS
    assert len(found.kernel.centres) == 1


def test_few_pilots_of_many_coordinates_have_a_diagonal_mass() -> None:
    law, rng = correlated(30), np.random.default_rng(0)
    found = pilots_of(law, law.draw(rng, 100))
    assert np.count_nonzero(found.kernel.factor - np.diag(np.diag(found.kernel.factor))) == 0


def test_heated_pilots_find_a_mode_that_no_draw_visited() -> None:
    law, rng = mixture(2, 0.5, 8.0, drawn=0.0), np.random.default_rng(0)
    found = pilots_of(law, law.draw(rng, 200))
    centres = np.sort(found.kernel.centres[:, 0])
    assert centres == pytest.approx([0.0, 8.0], abs=1.0)


def test_scale_moves_go_to_a_slab_that_no_draw_visited() -> None:
    law, rng = with_slab(10, 0.05), np.random.default_rng(0)
    found = pilots_of(law, law.draw(rng, 300))
    # ln 10 is in the tenth of twelve bins up to 3. Pilots that came in lead back from all over it.
    assert found.kernel.scale_chances[7:].sum() > 0.55
    far = int((np.linalg.norm(found.pilots.position, axis=1) > 10.0).sum())
    assert binomtest(far, 300, 0.05).pvalue > 0.001


def test_steps_are_doubled_while_pilots_are_unsettled() -> None:
    spread = 30.0 ** np.linspace(-1.0, 1.0, 50)  # with a diagonal mass that cannot be learnt
    turn = np.linalg.qr(np.random.default_rng(2).standard_normal((50, 50)))[0]
    precision = turn @ np.diag(spread**-2) @ turn.T
    law = Law(
        lambda rng, n: (rng.standard_normal((n, 50)) * spread) @ turn.T,
        lambda x: -0.5 * np.einsum("ij,jk,ik->i", x, precision, x),
        lambda x: -x @ precision,
    )
    found = pilots_of(law, law.draw(np.random.default_rng(3), 100), steps=4)
    assert found.steps == 4 * 2**MOST_DOUBLINGS


def test_pilots_are_judged_from_where_the_starts_begin() -> None:
    """Twelve steps are enough for rows that are right, not for those that come in from far away."""
    law, rng = correlated(2), np.random.default_rng(4)
    rows = law.draw(rng, 200)
    right = pilots_of(law, rows, steps=12)
    cold = pilots_of(law, rows + 60.0, steps=12)
    assert right.steps == 12
    assert cold.steps > 12
