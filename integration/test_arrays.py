"""Arrays of the real PyTorch, JAX, pandas and xarray: NumPy's answers, or a clear error."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from numpy.typing import NDArray

import polystein as ps
from studies._precision import enable_x64

Array = NDArray[np.float64]
ROWS = np.random.default_rng(1).normal(0.1, 1.1, size=(600, 3))
CHAINS = ROWS.reshape(3, 200, 3)
#: What the same draws are worth in single precision.
SINGLE = 1e-4


def value(draws: Any, scores: Any) -> float:
    return ps.lambda_psd_test(draws, scores, order=2, rng=1).statistic


EXPECTED = value(ROWS, -ROWS)
MAKERS: dict[str, Callable[[Array], Any]] = {
    "torch": torch.from_numpy,
    "torch that requires gradients": lambda x: torch.from_numpy(x).requires_grad_(),
    "jax": jnp.asarray,
    "pandas": lambda x: pd.DataFrame(x, columns=["a", "b", "c"]),
    "xarray": lambda x: xr.DataArray(x, dims=("draw", "parameter")),
    "lists": lambda x: x.tolist(),
}


@pytest.fixture(autouse=True)
def double_precision() -> Any:
    """JAX computes in single precision unless told otherwise."""
    with enable_x64(True):
        yield


@pytest.mark.parametrize("scores", MAKERS)
@pytest.mark.parametrize("draws", MAKERS)
def test_draws_and_scores_may_come_from_different_libraries(draws: str, scores: str) -> None:
    found = value(MAKERS[draws](ROWS), MAKERS[scores](-ROWS))
    assert found == pytest.approx(EXPECTED, rel=1e-12)


@pytest.mark.parametrize("make", [torch.from_numpy, jnp.asarray])
def test_chains_of_other_libraries(make: Callable[[Array], Any]) -> None:
    found = ps.check(make(CHAINS), make(-CHAINS), rng=1)
    assert found.to_dict() == ps.check(CHAINS, -CHAINS, rng=1).to_dict()


def test_a_score_function_of_pytorch_gets_tensors_like_the_draws() -> None:
    seen = []

    def score(x: torch.Tensor) -> torch.Tensor:
        seen.append((type(x), x.dtype, x.device.type, x.requires_grad))
        x = x.requires_grad_()
        log_density = -0.5 * (x**2).sum()
        (gradient,) = torch.autograd.grad(log_density, x, create_graph=True)
        return gradient

    draws = torch.from_numpy(ROWS).float().requires_grad_()
    assert value(draws, score) == pytest.approx(EXPECTED, rel=SINGLE)
    assert seen == [(torch.Tensor, torch.float32, "cpu", False)]
    assert draws.grad is None


def test_a_score_function_of_jax_gets_its_own_arrays() -> None:
    seen = []

    @jax.jit
    def gradients(x: jax.Array) -> jax.Array:
        return jax.vmap(jax.grad(lambda one: -0.5 * jnp.sum(one**2)))(x)

    def score(x: jax.Array) -> jax.Array:
        seen.append(isinstance(x, jax.Array))
        return gradients(x)

    assert value(jnp.asarray(ROWS), score) == pytest.approx(EXPECTED, rel=1e-12)
    assert seen == [True]


def test_a_score_function_may_return_another_library() -> None:
    def by_torch(x: Array) -> torch.Tensor:
        return -torch.from_numpy(x)

    def by_jax(x: Array) -> jax.Array:
        return -jnp.asarray(x)

    assert value(ROWS, by_torch) == pytest.approx(EXPECTED, rel=1e-12)
    assert value(ROWS, by_jax) == pytest.approx(EXPECTED, rel=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: torch.from_numpy(x).float(),
        lambda x: jnp.asarray(x, dtype=jnp.float32),
        lambda x: x.astype(np.float32),
    ],
)
def test_single_precision_costs_no_more_than_its_own_rounding(make: Callable[[Array], Any]) -> None:
    single = ROWS.astype(np.float32).astype(np.float64)
    found = value(make(ROWS), make(-ROWS))
    assert found == pytest.approx(value(single, -single), rel=1e-12)
    assert found == pytest.approx(EXPECTED, rel=SINGLE)


@pytest.mark.parametrize(
    "make",
    [lambda x: torch.from_numpy(x).bfloat16(), lambda x: jnp.asarray(x, dtype=jnp.bfloat16)],
)
def test_bfloat16_is_read_as_it_is(make: Callable[[Array], Any]) -> None:
    """A scale error of 2^-8 at most, and no error from a format without DLPack."""
    draws = make(ROWS)
    exact = np.asarray(torch.from_numpy(ROWS).bfloat16().double())
    assert value(draws, make(-ROWS)) == pytest.approx(value(exact, -exact), rel=1e-12)


@pytest.mark.parametrize("make", [torch.from_numpy, jnp.asarray])
def test_integers_are_converted_before_a_score_function_sees_them(
    make: Callable[[Array], Any],
) -> None:
    integers = np.rint(3.0 * ROWS).astype(np.int64)
    found = ps.psd(make(integers), lambda x: -(x**3), order=1)
    assert found == pytest.approx(ps.psd(integers, -(integers**3.0), order=1), rel=1e-12)
    with pytest.raises(ps.InputError, match=r"beyond 2\*\*53"):
        ps.psd(make(np.full((30, 2), 2**60)), lambda x: -x, order=1)


@pytest.mark.parametrize("make", [torch.from_numpy, jnp.asarray])
def test_errors_name_the_place_in_arrays_of_other_libraries(make: Callable[[Array], Any]) -> None:
    broken = CHAINS.copy()
    broken[1, 7, 2] = np.nan
    with pytest.raises(ps.InputError, match=r"the first at index \(1, 7, 2\): nan"):
        ps.Sample(make(broken), make(CHAINS))
    with pytest.raises(ps.InputError, match="`draws` must hold real numbers"):
        ps.Sample(make(ROWS > 0.0), make(ROWS))


def test_labelled_axes_in_another_order_are_an_error_with_a_remedy() -> None:
    swapped = xr.DataArray(CHAINS, dims=("draw", "chain", "parameter"))
    with pytest.raises(ps.InputError, match=r"transpose\('chain', 'draw', ...\)"):
        ps.check(swapped, lambda x: -x)
    data = xr.Dataset({"x": (("chain", "draw", "parameter"), CHAINS)})
    with pytest.raises(ps.InputError, match=r"Dataset\. Pass one of its variables"):
        ps.check(data, lambda x: -x)
    with pytest.raises(ps.InputError, match="got an xarray Dataset"):
        ps.check(CHAINS, data)
    assert ps.check(data["x"], -data["x"], rng=1).pvalue == ps.check(CHAINS, -CHAINS, rng=1).pvalue


def test_a_table_of_words_is_an_error() -> None:
    with pytest.raises(ps.InputError, match=r"`draws` must hold real numbers .* got dtype object"):
        ps.Sample(pd.DataFrame({"a": ["x"] * 30, "b": [1.0] * 30}), lambda x: x)
