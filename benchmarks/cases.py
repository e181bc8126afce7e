"""The cases of `--against`: the public names and NumPy alone, so that other commits run them too.

A name that a commit lacks is met only when its case is called: the other cases still run.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import polystein as ps

Array = NDArray[np.float64]
Call = Callable[[Array, Array, int], object]

ORDER = 4


def white(shape: tuple[int, ...]) -> Array:
    """Independent draws from N(0, I)."""
    return np.random.default_rng(20).standard_normal(shape)


def autoregressive(shape: tuple[int, ...], coefficient: float = 0.9) -> Array:
    """Chains with the law N(0, I) from their first draw on."""
    draws = white(shape)
    draws[:, 1:] *= (1.0 - coefficient**2) ** 0.5
    for t in range(1, shape[1]):
        draws[:, t] += coefficient * draws[:, t - 1]
    return draws


class Timed(NamedTuple):
    """One line of the table: what is called, on draws of which shape."""

    name: str
    shape: tuple[int, ...]
    call: Call
    quick_shape: tuple[int, ...] | None = None
    draw: Callable[[tuple[int, ...]], Array] = white

    def size(self, quick: bool) -> tuple[int, ...]:
        return self.quick_shape if quick and self.quick_shape else self.shape

    def side(self, quick: bool) -> Callable[[int], object]:
        """Make the draws and their scores once; what is timed gets them as arrays, and a seed."""
        draws = self.draw(self.size(quick))
        scores = -draws
        return lambda seed: self.call(draws, scores, seed)


def psd(draws: Array, scores: Array, seed: int) -> object:
    return ps.psd(draws, scores, order=ORDER)


def closed_form(draws: Array, scores: Array, seed: int) -> object:
    return ps.lambda_psd_test(draws, scores, order=ORDER, weights=ps.ClosedForm(), rng=seed)


def psd_test(draws: Array, scores: Array, seed: int) -> object:
    return ps.psd_test(draws, scores, order=ORDER, rng=seed)


def order_0(draws: Array, scores: Array, seed: int) -> object:
    return ps.lambda_psd_test(draws, scores, order=0, rng=seed)


def cross_entropy(draws: Array, scores: Array, seed: int) -> object:
    return ps.lambda_psd_test(draws, scores, order=ORDER, weights=ps.CrossEntropy(), rng=seed)


def one_chain(draws: Array, scores: Array, seed: int) -> object:
    return ps.lambda_psd_test(
        draws, scores, order=ORDER, weights=ps.ClosedForm(), split=ps.BlockSplit(0.7),
        variance=ps.InitialSequence(), rng=seed,
    )  # fmt: skip


def independent(draws: Array, scores: Array, seed: int) -> object:
    return ps.check(draws, scores, iid=True, rng=seed)


def chains(draws: Array, scores: Array, seed: int) -> object:
    return ps.check(draws, scores, rng=seed)


def effects(draws: Array, scores: Array, seed: int) -> object:
    return ps.effects(draws, scores)


def means(draws: Array, scores: Array, seed: int) -> object:
    return ps.expectations(draws, scores, functions=["mean"], iid=True)


def bootstrap(draws: Array, scores: Array, seed: int) -> object:
    return ps.psd_bootstrap_test(draws, scores, order=2, rng=seed)


def rival(name: str, **options: int) -> Call:
    return lambda draws, scores, seed: getattr(ps, name)(draws, scores, rng=seed, **options)


MILLION, TENTH = (1_000_000, 16), (100_000, 16)

CASES = [
    Timed("psd-million", MILLION, psd, TENTH),
    Timed("test-psd-1000", (1000, 16), psd_test),
    Timed("test-order-0", (10_000, 16), order_0),
    Timed("lambda-closed-form-1000", (1000, 16), closed_form),
    Timed("lambda-cross-entropy-1000", (1000, 16), cross_entropy),
    Timed("lambda-closed-form-million", MILLION, closed_form, TENTH),
    Timed("lambda-block-split", (10_000, 16), one_chain),
    Timed("lambda-1024", (10_000, 1024), closed_form),
    Timed("check-iid-16", (10_000, 16), independent),
    Timed("check-iid-128", (10_000, 128), independent),
    Timed("check-iid-million", MILLION, independent, TENTH),
    Timed("check-chains-short-16", (4, 1000, 16), chains),
    Timed("check-chains-16", (4, 2500, 16), chains),
    Timed("check-chains-128", (4, 2000, 128), chains),
    Timed("check-chains-300", (4, 2000, 300), chains),
    Timed("check-chains-ar-million", (4, 250_000, 16), chains, (4, 25_000, 16), autoregressive),
    Timed("check-chains-many", (1000, 20, 5), chains),
    Timed("check-chains-few", (4, 5000, 5), chains),
    Timed("effects-chains-short-16", (4, 1000, 16), effects),
    Timed("effects-50", (100_000, 50), effects, (10_000, 50)),
    Timed("expectations-means-million", MILLION, means, TENTH),
    Timed("bootstrap", (1000, 16), bootstrap),
    Timed("ksd", (500, 8), rival("ksd_test")),
    Timed("fssd", (2000, 8), rival("fssd_test")),
    Timed("rfsd", (2000, 8), rival("rfsd_test")),
    Timed("psd-l2", (2000, 8), rival("psd_l2_test", order=2)),
    Timed("nystrom", (1000, 8), rival("nystrom_ksd_test")),
]
