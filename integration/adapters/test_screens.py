"""What people see: a pass, a rejection and an inconclusive run of NUTS, ADVI and SVI.

Each is one screen. ``python -m integration.adapters.test_screens`` prints them.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import jax.numpy as jnp
import pytest
from numpyro.infer.autoguide import AutoDiagonalNormal

import polystein as ps
from integration.adapters import pymc_models, test_fits, test_jax_fits

pytestmark = pytest.mark.filterwarnings("default")

LINES, COLUMNS = 24, 90
VERDICTS = ("not rejected", "rejected", "inconclusive")
#: Of draws as few as this nothing can be said.
FEW = 30


def nuts() -> Iterator[ps.GofResult]:
    """Draws of PyMC, checked against their model, a narrower one, and a few of them."""
    model = test_fits.known_model()
    data = pymc_models.sample(model, seed=1)
    yield ps.check(data, model=model, rng=1)
    yield ps.check(data, model=test_fits.known_model(0.85 * test_fits.SDS), rng=1)
    yield ps.check(data.isel(draw=slice(FEW)), model=model, rng=1)


def advi() -> Iterator[ps.GofResult]:
    """Approximations whose parameters are known to be right or wrong."""
    model = test_fits.known_model()
    for sds, draws in ((test_fits.SDS, 4000), (test_fits.WRONG, 4000), (test_fits.SDS, FEW)):
        approximation = test_fits.mean_field(model, sds)
        yield ps.check(ps.from_pymc(approximation, n_draws=draws, rng=2), rng=1)


def svi() -> Iterator[ps.GofResult]:
    """Guides whose parameters are known to be right or wrong."""
    own, result = test_jax_fits.fitted(AutoDiagonalNormal)
    for factor, draws in ((1.0, 4000), (0.7, 4000), (1.0, FEW)):
        scale = factor * test_jax_fits.SDS
        result = result._replace(
            params={"auto_loc": jnp.asarray(test_jax_fits.MEANS), "auto_scale": scale}
        )
        sample = ps.from_numpyro(own, result, test_jax_fits.SDS, n_draws=draws, rng=1)
        yield ps.check(sample, rng=1)


SAMPLERS = {"NUTS": nuts, "ADVI": advi, "SVI": svi}


@cache
def results(sampler: str) -> dict[str, ps.GofResult]:
    return dict(zip(VERDICTS, SAMPLERS[sampler](), strict=True))


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize(
    ("verdict", "labels"),
    [
        ("not rejected", ("Power", "Meaning")),
        ("rejected", ("Off", "Next", "Run")),
        ("inconclusive", ("Why",)),
    ],
)
def test_each_fits_one_screen(sampler: str, verdict: str, labels: tuple[str, ...]) -> None:
    result = results(sampler)[verdict]
    assert result.verdict == verdict
    lines = str(result).splitlines()
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS
    assert lines[0].startswith(f"{verdict.capitalize()} at the level 0.05")
    first_words = [line.split(" ")[0] for line in lines]
    for label in labels:
        assert first_words.count(label) == 1
    for line in lines:
        assert not line.endswith("...")
        assert "nan" not in line.split()


@pytest.mark.parametrize(("sampler", "name"), [("NUTS", "s"), ("ADVI", "s"), ("SVI", "s")])
def test_summaries_have_the_model_s_own_scale_first(sampler: str, name: str) -> None:
    """The sd of a log-normal parameter is told on its own scale, and that of its logarithm."""
    result = results(sampler)["not rejected"]
    table = result.summary()
    unconstrained = "s (unconstrained)" if sampler == "SVI" else "s_log__"
    rows: Any = [row.name for row in table]
    assert rows.index(name) < rows.index(unconstrained)
    module: Any = test_jax_fits if sampler == "SVI" else test_fits
    place = 0 if sampler == "SVI" else 3
    mean, variance = module.MEANS[place], module.SDS[place] ** 2
    exact = float(jnp.exp(mean + variance / 2.0))
    assert table[name].mean == pytest.approx(exact, rel=0.1)
    assert abs(table[name].mean - exact) < 4.0 * table[name].mcse_mean
    assert table[unconstrained].mean == pytest.approx(mean, abs=0.06)
    assert table[unconstrained].sd == pytest.approx(module.SDS[place], rel=0.06)


if __name__ == "__main__":
    for sampler in SAMPLERS:
        for verdict, result in results(sampler).items():
            print(f"--- {sampler}, {verdict}\n{result}\n")
        print(results(sampler)["not rejected"].summary(), end="\n\n")
