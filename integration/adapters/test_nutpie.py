"""nutpie itself: stored gradients, and the verdicts of twenty seeds."""

from functools import cache
from typing import Any

import numpy as np
import nutpie
import pytest

import polystein as ps
from integration.adapters.pymc_models import GRADIENTS, MODELS, NAMES
from integration.posteriors import assert_exact, rejected_too_often

pytestmark = pytest.mark.filterwarnings("default")
SEEDS = 20


def trace(compiled: Any, seed: int, **options: Any) -> Any:
    return nutpie.sample(
        compiled, draws=1000, tune=500, chains=4, cores=1, seed=seed, progress_bar=False, **options
    )


@cache
def compiled_model(name: str) -> Any:
    return nutpie.compile_pymc_model(MODELS[name]())


@pytest.mark.parametrize("name", MODELS)
def test_twenty_seeds(name: str) -> None:
    compiled = compiled_model(name)
    rejections = 0
    for seed in range(SEEDS):
        run = trace(compiled, seed, store_gradient=True, store_unconstrained=True)
        sample = ps.from_nutpie(run)
        rejections += ps.check(sample, rng=seed).rejected()
    assert not rejected_too_often(rejections, SEEDS)
    assert sample.names == NAMES[name]
    assert_exact(sample, GRADIENTS[name])
    statistics = {"diverging", "energy", "reached_max_treedepth"}
    assert set(sample.facts.sampler_statistics) == statistics
    assert ps.check(run, rng=0).pvalue == ps.check(sample, rng=0).pvalue


def test_what_was_not_stored_is_named() -> None:
    compiled = compiled_model("regression")
    with pytest.raises(ps.InputError, match=r"nutpie\.sample\(\.\.\., store_gradient=True, store_"):
        ps.check(trace(compiled, 1))
    with pytest.raises(ps.InputError, match="must hold unconstrained draws"):
        ps.check(trace(compiled, 1, store_gradient=True))


def test_warm_up_is_left_out() -> None:
    compiled = compiled_model("regression")
    run = trace(compiled, 1, store_gradient=True, store_unconstrained=True, save_warmup=True)
    sample = ps.from_nutpie(run)
    assert sample.layout.lengths == (1000,) * 4
    assert np.isfinite(sample.draws).all()
