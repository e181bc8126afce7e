"""Rows that share their minibatches are named, and fresh batches are not."""

import numpy as np
import pytest

import polystein as ps
from polystein.data.guard.minibatches import shared_batch
from polystein.data.guard.scores import score_warnings
from tests.rows import Array
from tests.statistical.samplers import autoregressive


def draws_and_noise(shared: str, seed: int = 0) -> tuple[Array, Array]:
    """Chains of N(0, I) with their scores, and noise that rows share or not."""
    rng = np.random.default_rng(seed)
    x = autoregressive(rng, 4, 400, 3, 0.5)
    noise = 2.0 * rng.standard_normal(x.shape)
    if shared == "all rows":
        noise[:] = noise[0, 0]
    elif shared == "neighbours":
        noise = np.repeat(noise[:, ::4], 4, axis=1)
    elif shared == "chains":
        noise[:] = noise[:1]
    elif shared == "cycle":  # each chain goes round the same fifty, from another place
        noise = np.stack([np.tile(np.roll(noise[0, :50], 7 * c, axis=0), (8, 1)) for c in range(4)])
    elif shared == "pool":
        noise = noise[0, :100][rng.integers(100, size=(4, 400))]
    elif shared == "epochs":  # the same fifty, in another order each time
        order = np.concatenate([rng.permutation(50) for _ in range(32)])
        noise = noise[0, order].reshape(x.shape)
    return x, noise - x


def words(x: Array, scores: Array, **facts: object) -> str:
    sample = ps.Sample(x, scores, facts={"minibatch": True, **facts})
    return " ".join(str(one) for one in score_warnings(sample))


@pytest.mark.parametrize("seed", range(5))
def test_fresh_batches_are_not_named(seed: int) -> None:
    assert words(*draws_and_noise("no", seed)) == ""


@pytest.mark.parametrize(
    ("shared", "found"),
    [
        ("all rows", "no noise of minibatches"),
        ("neighbours", "neighbouring rows shared"),
        ("chains", "chains shared"),
        ("cycle", "came again"),
        ("pool", "a pool of few batches"),
        ("epochs", "a pool of few batches"),
    ],
)
def test_shared_batches_are_named(shared: str, found: str) -> None:
    assert found in words(*draws_and_noise(shared))


def test_the_time_after_which_batches_come_again_is_told() -> None:
    x, scores = (part[:1] for part in draws_and_noise("cycle"))
    assert "came again 50 rows later" in words(x, scores)


@pytest.mark.parametrize("d", [1, 3, 5, 20])
@pytest.mark.parametrize("law", ["exponential", "lognormal", "t", "binomial"])
def test_fresh_noise_of_other_laws_is_not_named(law: str, d: int) -> None:
    """Batches of one observation, with few values or large ones."""
    rng = np.random.default_rng([d, len(law)])
    noise = {
        "exponential": lambda size: rng.exponential(3.0, size),
        "lognormal": lambda size: 3.0 * np.exp(rng.standard_normal(size)),
        "t": lambda size: 3.0 * rng.standard_t(3.0, size),
        "binomial": lambda size: 2.0 * rng.binomial(10, 0.3, size),
    }[law]
    x = rng.standard_normal((1000, d))
    assert words(x, noise(x.shape) - x) == ""


def test_a_pool_of_two_coordinates_is_not_told_from_fresh_batches() -> None:
    x, scores = (part[..., :2] for part in draws_and_noise("pool"))
    assert words(x, scores) == ""


def test_independent_rows_are_asked_for_noise_alone() -> None:
    x, scores = (part.reshape(-1, 3) for part in draws_and_noise("all rows"))
    assert "no noise of minibatches" in words(x, scores)


def test_few_rows_and_rows_of_one_chain_say_nothing() -> None:
    x, scores = (part[0] for part in draws_and_noise("no"))
    zero, times = np.zeros(400, dtype=np.intp), np.arange(400)
    assert shared_batch(x, scores, zero, times) is None
    assert shared_batch(x[:8], scores[:8], zero[:8], times[:8]) is None


def test_noise_is_not_held_against_a_log_density() -> None:
    x, scores = draws_and_noise("no")
    density = {"log_density": lambda rows: -0.5 * np.sum(rows**2, axis=1)}
    assert words(x, scores, **density) == ""
    plain = ps.Sample(x, scores, facts=density)
    assert "not the gradient" in str(score_warnings(plain)[0])


def test_a_wrong_sign_is_still_seen() -> None:
    x, scores = draws_and_noise("no")
    assert "sign" in words(x, -scores)
