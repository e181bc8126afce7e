"""How often the axes of draws are called swapped: never if they are in order, nearly always if not.

``python -m tests.statistical.test_axes`` prints the counts.
"""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from polystein.data.guard.chains import require_time_along_chains
from polystein.errors import InputError
from tests.sources import MinimalSource

Array = NDArray[np.float64]
#: Draws of shape (chain, draw, d), in order, with their scores.
Draw = Callable[[np.random.Generator], tuple[Array, Array]]
REPLICATES = 2_000


def autoregressive(rho: float, chains: int, draws: int, d: int) -> Draw:
    def draw(rng: np.random.Generator) -> tuple[Array, Array]:
        values = _autoregressive(rng, rho, (chains, draws, d))
        return values, -values

    return draw


def _autoregressive(rng: np.random.Generator, rho: float, shape: tuple[int, int, int]) -> Array:
    values = rng.standard_normal(shape)
    for t in range(1, shape[1]):
        values[:, t] = rho * values[:, t - 1] + (1.0 - rho**2) ** 0.5 * values[:, t]
    return values


def two_scales(chains: int, draws: int, d: int) -> Draw:
    """A weak slow component beside white noise."""

    def draw(rng: np.random.Generator) -> tuple[Array, Array]:
        white = rng.standard_normal((chains, draws, d))
        slow = _autoregressive(rng, 0.98, white.shape)
        values = 0.9**0.5 * white + 0.1**0.5 * slow
        return values, -values

    return draw


def sticky(chains: int, draws: int, d: int, length: int = 50) -> Draw:
    """White noise that is stuck for some steps now and then."""

    def draw(rng: np.random.Generator) -> tuple[Array, Array]:
        values = rng.standard_normal((chains, draws, d))
        left = np.where(rng.random(chains) < 0.5, rng.integers(length, size=chains), 0)
        for t in range(1, draws):
            stuck = left > 0
            values[stuck, t] = values[stuck, t - 1]
            left = np.where(stuck, left - 1, np.where(rng.random(chains) < 0.02, length, 0))
        return values, -values

    return draw


def rotating(chains: int, draws: int, angle: float) -> Draw:
    """Pairs of coordinates that turn: at a right angle no coordinate follows itself at lag one."""

    def draw(rng: np.random.Generator) -> tuple[Array, Array]:
        noise = rng.standard_normal((chains, draws, 2)) @ np.array([1.0, 1.0j])
        for t in range(1, draws):
            turned = 0.97 * np.exp(1.0j * angle) * noise[:, t - 1]
            noise[:, t] = turned + (1.0 - 0.97**2) ** 0.5 * noise[:, t]
        values = np.stack([noise.real, noise.imag], axis=-1)
        return values, -values

    return draw


def walkers(count: int, draws: int, d: int) -> Draw:
    """The affine-invariant stretch move on N(0, I), half of the walkers at a time."""

    def draw(rng: np.random.Generator) -> tuple[Array, Array]:
        state, half = rng.standard_normal((count, d)), count // 2
        values = np.empty((count, draws, d))
        for t in range(draws):
            for mine, others in ((slice(None, half), slice(half, None)),
                                 (slice(half, None), slice(None, half))):  # fmt: skip
                partner = state[others][rng.integers(half, size=half)]
                stretch = (rng.random(half) + 1.0) ** 2 / 2.0
                moved = partner + stretch[:, None] * (state[mine] - partner)
                gain = 0.5 * (np.sum(state[mine] ** 2, axis=1) - np.sum(moved**2, axis=1))
                taken = np.log(rng.random(half)) < (d - 1) * np.log(stretch) + gain
                state[mine] = np.where(taken[:, None], moved, state[mine])
            values[:, t] = state
        return values, -values

    return draw


def cauchy(chains: int, draws: int, d: int) -> Draw:
    def draw(rng: np.random.Generator) -> tuple[Array, Array]:
        values = rng.standard_cauchy((chains, draws, d))
        return values, -2.0 * values / (1.0 + values**2)

    return draw


def smooth_curves(chains: int, draws: int, d: int, rho: float, scale: float) -> Draw:
    """Coordinates of a Gaussian process about a curve, which follow each other."""
    lags = np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    kernel = np.exp(-0.5 * (lags / scale) ** 2) if scale else 0.95**lags
    covariance = kernel + 1e-4 * np.eye(d)
    root, precision = np.linalg.cholesky(covariance), np.linalg.inv(covariance)
    curve = 5.0 * np.sin(np.arange(d) / 30.0)

    def draw(rng: np.random.Generator) -> tuple[Array, Array]:
        centred = _autoregressive(rng, rho, (chains, draws, d)) @ root.T
        return centred + curve, -centred @ precision

    return draw


def common_factor(chains: int, draws: int, d: int) -> Draw:
    """All coordinates share one factor."""
    precision = np.eye(d) - 1.0 / (1.0 + d)

    def draw(rng: np.random.Generator) -> tuple[Array, Array]:
        values = rng.standard_normal((chains, draws, d)) + rng.standard_normal((chains, draws, 1))
        return values, -values @ precision

    return draw


#: Draws in order, correct and of every kind of memory.
IN_ORDER: dict[str, Draw] = {
    "white, 4 x 100, d=4": autoregressive(0.0, 4, 100, 4),
    "white, 100 x 50, d=4": autoregressive(0.0, 100, 50, 4),
    "white, 1000 x 20, d=4": autoregressive(0.0, 1000, 20, 4),
    "white, 40 x 40, d=100": autoregressive(0.0, 40, 40, 100),
    "white, 1000 x 1, d=4": autoregressive(0.0, 1000, 1, 4),
    "AR(.5), 100 x 50, d=4": autoregressive(0.5, 100, 50, 4),
    "AR(.9), 100 x 50, d=4": autoregressive(0.9, 100, 50, 4),
    "AR(.9), 1000 x 20, d=4": autoregressive(0.9, 1000, 20, 4),
    "AR(.99), 40 x 200, d=1": autoregressive(0.99, 40, 200, 1),
    "AR(-.9), 100 x 50, d=4": autoregressive(-0.9, 100, 50, 4),
    "two scales, 100 x 50, d=4": two_scales(100, 50, 4),
    "sticky, 100 x 50, d=4": sticky(100, 50, 4),
    "turning by a right angle, 40 x 100": rotating(40, 100, np.pi / 2),
    "ensemble, 64 walkers x 100, d=4": walkers(64, 100, 4),
    "Cauchy, 100 x 50, d=4": cauchy(100, 50, 4),
    "smooth curves, white, 4 x 100, d=300": smooth_curves(4, 100, 300, 0.0, 10.0),
    "smooth curves, white, 4 x 50, d=300": smooth_curves(4, 50, 300, 0.0, 10.0),
    "smooth curves, AR(.9), 4 x 50, d=300": smooth_curves(4, 50, 300, 0.9, 10.0),
    "rough curves, white, 4 x 50, d=300": smooth_curves(4, 50, 300, 0.0, 0.0),
    "rough curves, white, 1 x 100, d=300": smooth_curves(1, 100, 300, 0.0, 0.0),
    "a common factor, 4 x 50, d=300": common_factor(4, 50, 300),
}
#: Draws in order, the order of axes in which they are given, and the least share to be found.
SWAPPED: dict[str, tuple[Draw, tuple[int, int, int], float]] = {
    "AR(.9), 4 x 1000, d=4, (draw, chain, d)": (autoregressive(0.9, 4, 1000, 4), (1, 0, 2), 0.99),
    "AR(.9), 4 x 1000, d=1, (draw, chain, d)": (autoregressive(0.9, 4, 1000, 1), (1, 0, 2), 0.97),
    "AR(.5), 4 x 1000, d=4, (draw, chain, d)": (autoregressive(0.5, 4, 1000, 4), (1, 0, 2), 0.99),
    "AR(.5), 4 x 1000, d=1, (draw, chain, d)": (autoregressive(0.5, 4, 1000, 1), (1, 0, 2), 0.99),
    "AR(.9), 4 x 100, d=4, (draw, chain, d)": (autoregressive(0.9, 4, 100, 4), (1, 0, 2), 0.9),
    "ensemble, 64 walkers x 200, d=4, (draw, chain, d)": (walkers(64, 200, 4), (1, 0, 2), 0.99),
    "AR(.9), 1 x 1000, d=4, (draw, chain, d)": (autoregressive(0.9, 1, 1000, 4), (1, 0, 2), 0.99),
    "AR(.9), 4 x 1000, d=16, (draw, d, chain)": (autoregressive(0.9, 4, 1000, 16), (1, 2, 0), 0.99),
    "white, 4 x 1000, d=16, (d, chain, draw)": (autoregressive(0.0, 4, 1000, 16), (2, 0, 1), 1.0),
    "white, 4 x 1000, d=16, (chain, d, draw)": (autoregressive(0.0, 4, 1000, 16), (0, 2, 1), 1.0),
    "AR(.9), 4 x 1000, d=50, (chain, d, draw)": (autoregressive(0.9, 4, 1000, 50), (0, 2, 1), 0.99),
    "AR(.9), 4 x 1000, d=50, (d, chain, draw)": (autoregressive(0.9, 4, 1000, 50), (2, 0, 1), 1.0),
    "AR(.9), 1 x 1000, d=50, (chain, d, draw)": (autoregressive(0.9, 1, 1000, 50), (0, 2, 1), 0.99),
}


def refused(draw: Draw, order: tuple[int, int, int], seed: int) -> bool:
    draws, scores = (part.transpose(order) for part in draw(np.random.default_rng(seed)))
    source = MinimalSource(list(zip(draws, scores, strict=True)), time_ordered=True)
    for name, value in (("names", None), ("sequential", False), ("grain", 1), ("weighted", False)):
        setattr(source, name, value)
    try:
        require_time_along_chains(source)  # type: ignore[arg-type]
    except InputError:
        return True
    return False


def count(draw: Draw, order: tuple[int, int, int], replicates: int) -> int:
    return sum(refused(draw, order, seed) for seed in range(replicates))


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_ORDER)
def test_axes_in_order_are_never_refused(name: str) -> None:
    assert count(IN_ORDER[name], (0, 1, 2), REPLICATES // 10) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", SWAPPED)
def test_swapped_axes_are_refused(name: str) -> None:
    draw, order, least = SWAPPED[name]
    assert count(draw, order, 100) >= 100 * (least - 0.05)


def main() -> None:
    """Print the counts."""
    for name, draw in IN_ORDER.items():
        print(f"{name}: {count(draw, (0, 1, 2), REPLICATES)} of {REPLICATES}", flush=True)
    for name, (draw, order, _) in SWAPPED.items():
        print(f"{name}: {count(draw, order, REPLICATES // 4)} of {REPLICATES // 4}", flush=True)


if __name__ == "__main__":
    main()
