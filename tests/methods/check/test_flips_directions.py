"""Sign flips along directions of correlated coordinates: where rows are too few for them."""

import numpy as np

import polystein as ps


def equicorrelated(rng: np.random.Generator, shape: tuple[int, ...], memory: float) -> ps.Sample:
    """Chains, or rows, of a Gaussian whose coordinates are all correlated 0.9."""
    noise = rng.standard_normal(shape)
    for t in range(1, shape[-2] if memory else 0):
        noise[..., t, :] *= (1.0 - memory**2) ** 0.5
        noise[..., t, :] += memory * noise[..., t - 1, :]
    d = shape[-1]
    covariance = 0.1 * np.eye(d) + 0.9
    draws = noise @ np.linalg.cholesky(covariance).T
    return ps.Sample(draws, -draws @ np.linalg.inv(covariance))


def test_directions_that_rows_are_too_few_for_are_said_to_be_left_out() -> None:
    rng = np.random.default_rng(0)
    few = ps.check(equicorrelated(rng, (119, 60), 0.0), iid=True)
    abstained, net = few.evidence.abstained
    assert net.name == "kernel net"
    assert abstained.name == "sign flips of whole directions"
    assert "2 rows for each coordinate" in abstained.reason
    # It is said, and the verdict is not held open for it.
    assert few.verdict == "not rejected"
    enough = ps.check(equicorrelated(rng, (120, 60), 0.0), iid=True)
    # Thirty batches are too few for the kernel net.
    assert [one.name for one in enough.evidence.abstained] == ["kernel net"]


def test_short_chains_of_correlated_coordinates_are_inconclusive() -> None:
    rng = np.random.default_rng(1)
    result = ps.check(equicorrelated(rng, (4, 1000, 50), 0.9))
    names = {one.name for one in result.evidence.abstained}
    assert "sign flips of spread along directions" in names
    assert result.verdict == "inconclusive"
    assert any("fewer than 8 independent rows for each" in reason for reason in result.reasons)


def test_uncorrelated_coordinates_need_no_directions() -> None:
    """The sum over the scores sees what Hotelling's statistic would."""
    rng = np.random.default_rng(2)
    noise = rng.standard_normal((4, 1000, 50))
    for t in range(1, 1000):
        noise[:, t] = 0.9 * noise[:, t - 1] + 0.19**0.5 * noise[:, t]
    result = ps.check(noise, -noise)
    assert not any("direction" in one.name for one in result.evidence.abstained)
