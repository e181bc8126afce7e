"""BridgeStan by its interface: a model with a scale and a matrix, in Python."""

from typing import Any

import numpy as np
import pytest

import polystein as ps


class StanModel:
    """sigma ~ half-normal, matrix[2, 2] m ~ N(0, 1); (log sigma, m), the first index fastest."""

    def param_names(self) -> list[str]:
        return ["sigma", "m.1.1", "m.2.1", "m.1.2", "m.2.2"]

    def param_unc_names(self) -> list[str]:
        return self.param_names()

    def param_unconstrain(self, theta: Any) -> Any:
        return np.concatenate([np.log(theta[:1]), theta[1:]])

    def param_constrain(self, theta_unc: Any) -> Any:
        return np.concatenate([np.exp(theta_unc[:1]), theta_unc[1:]])

    def log_density(self, theta_unc: Any) -> float:
        return float(theta_unc[0] - 0.5 * np.sum(self.param_constrain(theta_unc) ** 2))

    def log_density_gradient(self, theta_unc: Any) -> tuple[float, Any]:
        own = self.param_constrain(theta_unc)
        gradient = -own.copy()
        gradient[0] = 1.0 - own[0] ** 2
        return self.log_density(theta_unc), gradient


class Simplex(StanModel):
    """One coordinate fewer without the constraint."""

    def param_unc_names(self) -> list[str]:
        return super().param_names()[1:]

    def param_unconstrain(self, theta: Any) -> Any:
        return theta[1:]

    def log_density_gradient(self, theta_unc: Any) -> tuple[float, Any]:
        return 0.0, -theta_unc


class Line(StanModel):
    """Nothing is constrained."""

    def param_constrain(self, theta_unc: Any) -> Any:
        return theta_unc

    def log_density_gradient(self, theta_unc: Any) -> tuple[float, Any]:
        return 0.0, -theta_unc


RNG = np.random.default_rng(0)
FREE = RNG.standard_normal((2, 40, 5))
FREE[..., 0] = np.log(np.abs(FREE[..., 0]))
OWN = np.concatenate([np.exp(FREE[..., :1]), FREE[..., 1:]], axis=2)
SCORES = np.concatenate([1.0 - OWN[..., :1] ** 2, -OWN[..., 1:]], axis=2)
MATRIX = OWN[..., 1:].reshape(2, 40, 2, 2).swapaxes(2, 3)  # Stan's order is by columns


@pytest.mark.parametrize(
    ("draws", "options"),
    [
        (FREE, {"constrained": False}),
        (OWN, {"constrained": True}),
        ({"sigma": OWN[..., 0], "m": MATRIX, "other": 0}, {}),
    ],
)
def test_unconstrained_draws_scores_and_names(draws: Any, options: Any) -> None:
    sample = ps.from_bridgestan(StanModel(), draws, **options)
    np.testing.assert_allclose(sample.draws, FREE, atol=1e-12)
    np.testing.assert_allclose(sample.scores, SCORES, atol=1e-12)
    assert sample.names == ("sigma", "m[1, 1]", "m[2, 1]", "m[1, 2]", "m[2, 2]")
    facts = sample.facts
    assert facts.log_density is not None
    assert facts.transform is not None
    assert facts.log_density(FREE[0, :3]).shape == (3,)
    np.testing.assert_allclose(facts.transform(FREE[0])["sigma"], OWN[0, :, 0])


def test_the_scale_is_never_guessed() -> None:
    with pytest.raises(ps.InputError, match="`constrained` must be given: 5 coordinates"):
        ps.from_bridgestan(StanModel(), FREE)
    assert ps.from_bridgestan(Line(), FREE).layout.dimension == 5


def test_the_size_tells_where_it_can() -> None:
    assert np.array_equal(ps.from_bridgestan(Simplex(), FREE).draws, FREE[..., 1:])
    assert np.array_equal(ps.from_bridgestan(Simplex(), FREE[..., 1:]).draws, FREE[..., 1:])


def test_rows_may_be_independent() -> None:
    sample = ps.from_bridgestan(StanModel(), FREE[0], constrained=False, thin=2, var_names="m")
    assert np.array_equal(sample.draws, FREE[0, ::2, 1:])
    assert not sample.layout.time_ordered


@pytest.mark.parametrize(
    ("draws", "options", "message"),
    [
        (FREE[..., :3], {}, "5 unconstrained or 5 constrained coordinates; got 3"),
        (FREE[..., :3], {"constrained": True}, "must have 5 coordinates"),
        ({"sigma": OWN[..., 0]}, {}, "without m"),
        (FREE[0, 0], {}, "must have the shape"),
    ],
)
def test_wrong_draws_are_refused(draws: Any, options: Any, message: str) -> None:
    with pytest.raises(ps.InputError, match=message):
        ps.from_bridgestan(StanModel(), draws, **options)


class Strict(StanModel):
    """Stan raises an error where a scale is out of bounds."""

    def log_density(self, theta_unc: Any) -> float:
        if theta_unc[0] > 3.0:
            raise RuntimeError("normal_lpdf: Scale parameter is inf, but must be positive finite!")
        return super().log_density(theta_unc)


def test_the_density_is_zero_where_stan_raises_an_error() -> None:
    target = ps.from_bridgestan(Strict(), FREE, constrained=False).target
    assert target is not None
    points = FREE[0, :3].copy()
    points[1, 0] = 4.0
    densities, scores = target.log_density_and_score(points)
    assert densities[1] == -np.inf
    assert np.isnan(scores[1]).all()
    assert np.isfinite(scores[[0, 2]]).all()
    np.testing.assert_array_equal(target.log_density(points), densities)


def test_refining_goes_on_where_stan_raises_an_error() -> None:
    class Narrow(Strict):
        def log_density(self, theta_unc: Any) -> float:
            if theta_unc[0] > FREE[..., 0].max():
                raise RuntimeError("rejected")
            return StanModel.log_density(self, theta_unc)

    sample = ps.from_bridgestan(Narrow(), FREE, constrained=False)
    found = ps.refine(sample, starts=40, transitions=2)
    names = {row.name for row in found.effects}
    assert names == {*sample.names, "sigma (constrained)"}
