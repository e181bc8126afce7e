"""BlackJAX, JAX and PyTorch on the regression: states, containers, precision."""

from collections.abc import Iterator
from typing import Any

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import polystein as ps
from integration.posteriors import (
    OUTCOMES,
    PREDICTORS,
    assert_exact,
    assert_gradient,
    inflated,
    regression_gradient,
)

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def log_density(point: Any) -> Any:
    logits = point["alpha"] + jnp.asarray(PREDICTORS) @ point["beta"]
    likelihood = jnp.sum(OUTCOMES * logits - jnp.logaddexp(0.0, logits))
    return likelihood - point["alpha"] ** 2 / 8.0 - 0.5 * jnp.sum(point["beta"] ** 2)


def torch_log_density(point: Any) -> Any:
    outcomes, predictors = torch.as_tensor(OUTCOMES), torch.as_tensor(PREDICTORS)
    logits = point[..., :1] + point[..., 1:] @ predictors.to(point.dtype).T
    likelihood = (outcomes * logits - torch.nn.functional.softplus(logits)).sum(-1)
    return likelihood - point[..., 0] ** 2 / 8.0 - 0.5 * (point[..., 1:] ** 2).sum(-1)


def states(seed: int, chains: int = 4) -> tuple[Any, Any]:
    """NUTS with window adaptation, the chains side by side."""
    start = {"alpha": jnp.zeros(()), "beta": jnp.zeros(3)}
    key = jax.random.PRNGKey(seed)
    (state, parameters), _ = blackjax.window_adaptation(blackjax.nuts, log_density).run(
        key, start, 500
    )
    kernel = blackjax.nuts(log_density, **parameters).step

    def step(state: Any, key: Any) -> Any:
        state, info = kernel(key, state)
        return state, (state, info)

    def chain(key: Any) -> Any:
        return jax.lax.scan(step, state, jax.random.split(key, 1100))[1]

    return jax.vmap(chain)(jax.random.split(key, chains))


@pytest.fixture(scope="module", params=[0, 1])
def run(request: pytest.FixtureRequest) -> Any:
    with jax.enable_x64(True):
        return states(request.param)


def test_states_of_blackjax(run: Any) -> None:
    kept, info = run
    found = ps.from_blackjax(kept, info, drop_first=100)
    assert found.names == ("alpha", "beta[0]", "beta[1]", "beta[2]")
    assert_exact(found, regression_gradient)
    assert set(found.facts.sampler_statistics) == {"diverging", "energy"}
    assert ps.check(found, rng=0).pvalue > 0.001
    assert ps.check(kept, rng=0).pvalue == ps.check(ps.from_blackjax(kept), rng=0).pvalue


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


def test_any_log_density_of_jax(run: Any) -> None:
    kept, _ = run
    expected = ps.from_blackjax(kept)
    found = ps.from_jax(log_density, kept.position)
    assert found.names == expected.names
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-9, atol=1e-9)
    assert_gradient(found)
    flat = jnp.asarray(expected.draws)

    def of_a_vector(x: Any) -> Any:
        return log_density({"alpha": x[0], "beta": x[1:]})

    names = expected.names
    array = ps.from_jax(of_a_vector, flat, names=names)
    np.testing.assert_allclose(array.scores, expected.scores, rtol=1e-9, atol=1e-9)
    rows = ps.from_jax(jax.vmap(of_a_vector), flat[0], names=names)
    np.testing.assert_allclose(rows.scores, expected.scores[0], rtol=1e-9, atol=1e-9)
    gradient = jax.vmap(jax.grad(of_a_vector))
    assert ps.check(
        inflated(array, "beta[1]", lambda x: gradient(jnp.asarray(x))), rng=0
    ).rejected()


def test_samplers_without_gradients_are_pointed_to_jax() -> None:
    walk = blackjax.rmh(log_density, blackjax.mcmc.random_walk.normal(0.1 * jnp.ones(4)))
    state = walk.init({"alpha": jnp.zeros(()), "beta": jnp.zeros(3)})
    with pytest.raises(ps.InputError, match=r"ps\.from_jax\(logdensity, states\.position\)"):
        ps.check(state)


def test_single_precision_of_jax_is_said() -> None:
    with jax.enable_x64(False):
        draws = np.random.default_rng(0).standard_normal((100, 2))
        with pytest.warns(ps.ScoreWarning, match="jax_enable_x64"):
            sample = ps.from_jax(lambda x: -0.5 * jnp.sum(x**2), draws)
    assert "float32" in sample.facts.warnings[0]


@pytest.mark.parametrize("kind", ["points", "rows", "no vmap"])
def test_any_log_density_of_pytorch(run: Any, kind: str) -> None:
    kept, _ = run
    draws = np.asarray(ps.from_blackjax(kept).draws)

    def by_branch(point: Any) -> Any:
        return torch_log_density(point) if float(point[0]) < 1e6 else point.sum()

    function = {
        "points": lambda point: torch_log_density(point).reshape(()),
        "rows": torch_log_density,
        "no vmap": by_branch,
    }[kind]
    names = ["alpha", "beta[0]", "beta[1]", "beta[2]"]
    found = ps.from_torch(function, torch.as_tensor(draws), names=names, thin=5)
    assert_exact(found, regression_gradient)
    assert_gradient(found)
    assert ps.check(found, rng=0).pvalue > 0.001


def test_single_precision_of_pytorch_is_said() -> None:
    draws = torch.randn(100, 2, generator=torch.Generator().manual_seed(0))
    with pytest.warns(ps.ScoreWarning, match=r"torch\.float64"):
        ps.from_torch(lambda x: -0.5 * (x**2).sum(), draws)


def test_log_densities_of_the_wrong_shape_are_refused() -> None:
    with pytest.raises(ps.InputError, match="`log_prob` must give one number"):
        ps.from_torch(lambda x: -0.5 * x**2, torch.zeros(30, 2, dtype=torch.float64))
    with pytest.raises(ps.InputError, match="`logdensity` must give one number"):
        ps.from_jax(lambda x: -0.5 * x**2, jnp.zeros((30, 2)))
