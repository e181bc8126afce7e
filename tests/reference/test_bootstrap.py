"""Sanity of the literal wild bootstrap: it is the yardstick, too."""

import numpy as np
import pytest

from tests.reference import bootstrap, stein
from tests.rows import arbitrary_rows


@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_wild_bootstrap_of_u_and_v(structure: str) -> None:
    """Section 3.4: n U and n V, replicates as norms of sign-flipped means, equal p-values."""
    draws, scores = arbitrary_rows(14, 2)
    multipliers = np.random.default_rng(8).choice([-1.0, 1.0], size=(99, 14))
    u, u_replicates, p_u = bootstrap.wild_bootstrap(draws, scores, 2, multipliers, "u", structure)
    v, v_replicates, p_v = bootstrap.wild_bootstrap(draws, scores, 2, multipliers, "v", structure)
    assert u == pytest.approx(14 * stein.psd_u(draws, scores, 2, structure), rel=1e-11)
    assert v == pytest.approx(14 * stein.psd_v(draws, scores, 2, structure) ** 2, rel=1e-11)
    rows = np.array([stein.xi(x, s, 2, structure) for x, s in zip(draws, scores, strict=True)])
    expected = np.sum((multipliers @ rows) ** 2, axis=1) / 14
    np.testing.assert_allclose(v_replicates, expected, rtol=1e-11)
    np.testing.assert_allclose(13 * u_replicates, 14 * expected - np.sum(rows**2), rtol=1e-9)
    assert p_u == p_v == (1 + np.sum(expected >= v)) / 100
    assert 0.01 < p_u < 1.0


def test_wild_bootstrap_counts_ties_and_refuses_other_multipliers() -> None:
    draws, scores = arbitrary_rows(6, 2)
    signs = np.array([[1.0] * 6, [-1.0] * 6])
    for estimator in ("u", "v"):
        assert bootstrap.wild_bootstrap(draws, scores, 1, signs, estimator)[2] == 1.0
    with pytest.raises(ValueError, match="multipliers"):
        bootstrap.wild_bootstrap(draws, scores, 1, 0.5 * signs)
