"""Signal-to-noise ratios: simulated, exact, and what the paper claims of them."""

import math
from itertools import pairwise

import pytest

from polystein.experiments.engine.cells import Replicate
from polystein.experiments.paper import snr

# On purpose, draws are tested here that a warning is in place for.
pytestmark = pytest.mark.filterwarnings("ignore::polystein.PolysteinWarning")


@pytest.mark.slow
def test_simulated_snr_agrees_with_the_exact_one() -> None:
    cell = snr.cells(1)[0]
    rows = [row for i in range(300) for row in snr.task(Replicate(cell, i, seed=2))]
    for row in snr.summarise(rows)[:4]:
        gap = math.log10(float(row["psd_u_simulated"] or 0.0) / float(row["psd_u_exact"] or 0.0))
        assert abs(gap) < 3.5 * float(row["psd_u_simulated_log10_se"] or 0.0)


@pytest.mark.parametrize("highest", [7, pytest.param(11, marks=pytest.mark.slow)])
def test_the_central_claim_holds_in_the_table(
    highest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The highest orders take most of the time."""
    assert (snr.ORDERS[-1], snr.SLOPE[1]) == (11, 11)
    monkeypatch.setattr(snr, "ORDERS", range(highest + 1))
    monkeypatch.setattr(snr, "SLOPE", (snr.SLOPE[0], highest))
    table = snr.summarise([])
    weighted = [float(row["lambda_psd_exact"] or 0.0) for row in table]
    assert all(later >= earlier for earlier, later in pairwise(weighted))
    assert weighted[-1] <= float(table[0]["chi_square_bound"] or 0.0)
    odd = [float(row["psd_z_exact"] or 0.0) for row in table if int(row["order"] or 0) % 2]
    assert all(later < earlier / 2 for earlier, later in pairwise(odd))
    slopes = snr.slopes()
    assert abs(slopes.corrected - slopes.exact) < 0.2 * abs(slopes.printed - slopes.exact)
