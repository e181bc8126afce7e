"""Golden calls that take more than one line: what is called, and what of the answer is kept."""

from dataclasses import asdict
from typing import Any

import numpy as np

import polystein as ps


def check_with_effects(*data: Any, **options: Any) -> ps.GofResult:
    """`check`, and the effects that its result computes when they are asked for."""
    result = ps.check(*data, **options)
    assert result.effects is result.effect_table
    return result


def products(x: Any) -> Any:
    """Two functions of the draws."""
    return np.stack([x[:, 0] * x[:, 1], np.tanh(x[:, 2])], axis=1)


def stein_moments(*data: Any, order: int, **options: Any) -> dict[str, Any]:
    """Averages of Stein features over all rows, and what follows from them."""
    mean = ps.SteinMoments(order, norms=True, **options).update(*data).finalise()
    squares = {"norm": mean.norm(), "unbiased_square": mean.unbiased_square()}
    return {**squares, "score": mean.score, "matrices": list(mean.matrices)}


def merged_moments(draws: Any, scores: Any, *, order: int) -> dict[str, Any]:
    """The norm of sums that were taken apart and merged."""
    parts = [slice(0, 37), slice(37, 60), slice(60, None)]
    sums = [ps.SteinMoments(order).update(draws[part], scores[part]) for part in parts]
    return {"norm": sums[0].merge(sums[1]).merge(sums[2]).finalise().norm()}


def monitored(draws: Any, scores: Any, /, *, step: int, restart: bool = False, **plan: Any) -> Any:
    """The looks of a monitor that takes `step` draws of every chain at a time."""
    monitor = ps.Monitor(None, **plan)
    for start in range(0, draws.shape[-2], step):
        stop = start + step
        monitor.update(draws[..., start:stop, :], scores[..., start:stop, :])
        if restart:
            monitor = ps.Monitor.load(monitor.state_dict())
    looks = [asdict(look) for look in monitor.looks]
    return {"alarm": monitor.alarm, "discrepancy": monitor.discrepancy(), "looks": looks}


def gaussian_pair(*, order: int, **pair: Any) -> dict[str, Any]:
    """All that `GaussianPair` knows exactly."""
    pair = ps.theory.GaussianPair(**pair)
    zetas, (mean, covariance) = pair.zetas(order), pair.feature_moments(order)
    values = {"psd": pair.psd(order), "snr_squared_u": pair.snr_squared_u(order, 500)}
    values |= {"snr_squared_z": pair.snr_squared_z(order), "chi": pair.chi_square_divergence()}
    values |= {"lambda_snr_squared": pair.lambda_snr_squared(order), "zetas": zetas}
    return {**values, "mean": mean, "covariance": covariance}


def laws(*, orders: int) -> dict[str, Any]:
    """Remark 3.6 for the first orders."""
    every = range(1, orders + 1)
    printed, corrected = ps.theory.printed_law, ps.theory.corrected_law
    return {"printed": [printed(q) for q in every], "corrected": [corrected(q) for q in every]}
