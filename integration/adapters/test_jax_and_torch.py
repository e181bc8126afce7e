"""BlackJAX, JAX and PyTorch: states, containers, precision, verdicts."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import polystein as ps
from integration.adapters.densities import DENSITIES, INFLATED, NAMES, SHAPES, of_a_vector
from integration.adapters.densities import regression as regression_density
from integration.posteriors import (
    Gradient,
    assert_exact,
    assert_gradient,
    centred_gradient,
    constrained_gradient,
    inflated,
    log_ratio_gradient,
    regression_gradient,
    schools_gradient,
    wide_draws,
)
from studies._precision import enable_x64

pytestmark = pytest.mark.filterwarnings("default")
GRADIENTS: dict[str, tuple[Gradient, ...]] = {
    "schools": (schools_gradient,),
    "centred": (centred_gradient,),
    "regression": (regression_gradient,),
    "constrained": (constrained_gradient, log_ratio_gradient),
}
#: Two seeds of every posterior but the centred one, whose chains do not converge.
RUNS = [(model, seed) for model in INFLATED for seed in (0, 1)]


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    with enable_x64(True):
        yield


def log_density(point: Any) -> Any:
    return regression_density(point, jnp)


@cache
def sampler(model: str) -> Any:
    """NUTS with window adaptation, the chains side by side, as a compiled function of a key."""

    def of_one_point(point: Any) -> Any:
        return DENSITIES[model](point, jnp)

    def chains(key: Any) -> Any:
        start = {name: jnp.zeros(shape) for name, shape in SHAPES[model].items()}
        adaptation = blackjax.window_adaptation(blackjax.nuts, of_one_point)
        (state, parameters), _ = adaptation.run(key, start, 500)
        kernel = blackjax.nuts(of_one_point, **parameters).step

        def step(state: Any, key: Any) -> Any:
            state, info = kernel(key, state)
            return state, (state, info)

        def chain(key: Any) -> Any:
            return jax.lax.scan(step, state, jax.random.split(key, 1100))[1]

        return jax.vmap(chain)(jax.random.split(key, 4))

    return jax.jit(chains)


@cache
def states(model: str, seed: int) -> tuple[Any, Any]:
    with enable_x64(True):
        found: tuple[Any, Any] = sampler(model)(jax.random.PRNGKey(seed))
        return found


@pytest.fixture
def run() -> tuple[Any, Any]:
    return states("regression", 0)


@pytest.mark.parametrize(("model", "seed"), RUNS)
def test_states_of_blackjax(model: str, seed: int) -> None:
    """NUTS is not rejected; one parameter 15 % too wide is."""
    kept, info = states(model, seed)
    found = ps.from_blackjax(kept, info, drop_first=100)
    assert found.names == NAMES[model]
    for gradient in GRADIENTS[model]:
        assert_exact(found, gradient)
    assert set(found.facts.sampler_statistics) == {"diverging", "energy"}
    assert ps.check(found, rng=0).pvalue > 0.001
    score = jax.vmap(jax.grad(of_a_vector(model, jnp)))
    wrong = inflated(found, INFLATED[model], lambda x: score(jnp.asarray(x)))
    assert ps.check(wrong, rng=0).rejected()


def test_states_are_checked_directly(run: Any) -> None:
    kept, _ = run
    assert ps.check(kept, rng=0).pvalue == ps.check(ps.from_blackjax(kept), rng=0).pvalue


def test_states_of_the_centred_schools() -> None:
    """At points that no sampler was asked for."""
    rng = np.random.default_rng(0)
    points = {name: jnp.asarray(rng.standard_normal((2, 50, *shape)))
              for name, shape in SHAPES["centred"].items()}  # fmt: skip

    def start(point: Any) -> Any:
        return blackjax.nuts.init(point, lambda one: DENSITIES["centred"](one, jnp))

    found = ps.from_blackjax(jax.vmap(jax.vmap(start))(points))
    assert found.names == NAMES["centred"]
    assert_exact(found, centred_gradient)


def test_other_axes_of_states(run: Any) -> None:
    kept, info = run
    expected = ps.from_blackjax(kept, info)
    turned = jax.tree.map(lambda leaf: leaf.swapaxes(0, 1), kept)
    with pytest.raises(ps.InputError, match="`chain_axis` must be given"):
        ps.check(turned)
    assert np.array_equal(ps.from_blackjax(turned, chain_axis=1).scores, expected.scores)
    single = jax.tree.map(lambda leaf: leaf[0], kept)
    assert np.array_equal(ps.from_blackjax(single).scores, expected.scores[:1])
    listed = [jax.tree.map(lambda leaf, i=i: leaf[0, i], kept) for i in range(60)]
    assert np.array_equal(ps.from_blackjax(listed).scores, expected.scores[:1, :60])
    last = jax.tree.map(lambda leaf: leaf[0, -1], kept)
    with pytest.raises(ps.InputError, match="Is this the last state alone"):
        ps.check(last)


@pytest.mark.parametrize("model", DENSITIES)
def test_any_log_density_of_jax(model: str) -> None:
    """Pytrees, arrays and functions of many points give the same scores."""
    points = draws_of(model)
    vector = of_a_vector(model, jnp)
    found = ps.from_jax(vector, jnp.asarray(points), names=NAMES[model])
    assert_gradient(found)
    for gradient in GRADIENTS[model]:
        assert_exact(found, gradient)
    rows = ps.from_jax(jax.vmap(vector), jnp.asarray(points[0]), names=NAMES[model])
    np.testing.assert_allclose(rows.scores, found.scores[0], rtol=1e-9, atol=1e-9)


def draws_of(model: str) -> Any:
    """Unconstrained points of shape (chain, draw, d): draws, but for the centred posterior."""
    if model not in INFLATED:
        return np.random.default_rng(0).standard_normal((2, 100, len(NAMES[model])))
    return np.array(ps.from_blackjax(states(model, 0)[0], drop_first=100).draws)


def test_containers_of_jax(run: Any) -> None:
    kept, _ = run
    expected = ps.from_blackjax(kept)
    found = ps.from_jax(log_density, kept.position)
    assert found.names == expected.names
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-9, atol=1e-9)


def test_samplers_without_gradients_are_pointed_to_jax() -> None:
    walk = blackjax.rmh(log_density, blackjax.mcmc.random_walk.normal(0.1 * jnp.ones(4)))
    state = walk.init({"alpha": jnp.zeros(()), "beta": jnp.zeros(3)})
    with pytest.raises(ps.InputError, match=r"ps\.from_jax\(logdensity, states\.position\)"):
        ps.check(state)


def test_single_precision_of_jax_is_said() -> None:
    with enable_x64(False):
        draws = np.random.default_rng(0).standard_normal((100, 2))
        with pytest.warns(ps.ScoreWarning, match="jax_enable_x64"):
            sample = ps.from_jax(lambda x: -0.5 * jnp.sum(x**2), draws)
    assert "float32" in sample.facts.warnings[0]


@pytest.mark.parametrize("model", DENSITIES)
def test_any_log_density_of_pytorch(model: str) -> None:
    """Exact at the draws of NUTS, which are not rejected; 15 % too wide, they are."""
    vector, points = of_a_vector(model, torch), draws_of(model)
    found = ps.from_torch(vector, torch.as_tensor(points), names=NAMES[model])
    assert_gradient(found)
    for gradient in GRADIENTS[model]:
        assert_exact(found, gradient)
    if model not in INFLATED:
        return
    assert ps.check(found, rng=0).pvalue > 0.001
    wide = torch.as_tensor(wide_draws(found, INFLATED[model]))
    wrong = ps.from_torch(vector, wide, names=NAMES[model])
    assert ps.check(wrong, rng=0).rejected()


@pytest.mark.parametrize("kind", ["rows", "no vmap"])
def test_other_functions_of_pytorch(kind: str) -> None:
    points = torch.as_tensor(draws_of("regression"))
    vector = of_a_vector("regression", torch)

    def by_branch(point: Any) -> Any:
        return vector(point) if float(point[0]) < 1e6 else point.sum()

    function = torch.vmap(vector) if kind == "rows" else by_branch
    found = ps.from_torch(function, points, names=NAMES["regression"], thin=5)
    assert_exact(found, regression_gradient)


def test_single_precision_of_pytorch_is_said() -> None:
    draws = torch.randn(100, 2, generator=torch.Generator().manual_seed(0))
    with pytest.warns(ps.ScoreWarning, match=r"torch\.float64"):
        ps.from_torch(lambda x: -0.5 * (x**2).sum(), draws)


def test_log_densities_of_the_wrong_shape_are_refused() -> None:
    with pytest.raises(ps.InputError, match="`log_prob` must give one number"):
        ps.from_torch(lambda x: -0.5 * x**2, torch.zeros(30, 2, dtype=torch.float64))
    with pytest.raises(ps.InputError, match="`logdensity` must give one number"):
        ps.from_jax(lambda x: -0.5 * x**2, jnp.zeros((30, 2)))


def test_the_density_is_zero_outside_the_support_of_a_torch_distribution() -> None:
    """PyTorch raises a ValueError for such points."""
    law = torch.distributions.Gamma(torch.tensor(2.0).double(), torch.tensor(1.0).double())
    draws = np.random.default_rng(0).gamma(2.0, size=(40, 2))
    target = ps.from_torch(lambda x: law.log_prob(x).sum(-1), draws).target
    assert target is not None
    points = draws[:5].copy()
    points[2, 0] = -1.0
    densities, scores = target.log_density_and_score(points)
    np.testing.assert_array_equal(np.isneginf(densities), np.arange(5) == 2)
    np.testing.assert_array_equal(np.isnan(scores).any(axis=1), np.arange(5) == 2)
    np.testing.assert_allclose(target.log_density(points), densities)
