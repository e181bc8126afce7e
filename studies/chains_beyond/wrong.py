"""Chains with a fault that is known: planted ones, and ones of a sampler that went wrong."""

from collections.abc import Callable, Iterator
from functools import partial

from studies.chains_beyond.lines import Array, Drawn, Line
from tests.statistical import samplers_faults as faults
from tests.statistical.samplers import Generator, autoregressive

MEMORY = 0.5
DIMENSION = 5
PLANTED = frozenset({"rejected", "doubted"})
#: The third of four, in which nothing is special.
CHAIN = 2
COORDINATES = {"every coordinate": slice(None), "one coordinate": slice(1)}


def planted(rng: Generator, count: int, *, fault: Callable[[Array], Array]) -> Drawn:
    """AR(0.5) chains of N(0, I), 4 x 1000, with a fault."""
    chains = autoregressive(rng, 4 * count, 1000, DIMENSION, MEMORY)
    draws = fault(chains.reshape(count, 4, 1000, DIMENSION))
    return Drawn(draws, -draws)


def planted_faults() -> Iterator[tuple[str, Callable[[Array], Array]]]:
    """Each fault in every coordinate, and in one alone."""
    for where, coordinates in COORDINATES.items():
        start = partial(faults.late_start, rows=200, distance=8.0, coordinates=coordinates)
        yield f"first 200 draws of every chain 8 sd off, {where}", start
        far = partial(faults.far_start, memory=MEMORY, distance=20.0, coordinates=coordinates)
        yield f"started at 20 sd, {where}", far
        for distance in (1.0, 3.0, 9000.0):
            shift = partial(
                faults.shifted_chain, chain=CHAIN, distance=distance, coordinates=coordinates
            )
            yield f"one chain of four {distance:,.0f} sd off, {where}", shift
    yield "one chain of four frozen", partial(faults.frozen_chain, chain=CHAIN)


def sampled(rng: Generator, count: int, *, model: str) -> Drawn:
    """BlackJAX's NUTS as it comes; JAX is imported when it is first needed."""
    from studies.chains_beyond import nuts

    return nuts.MODELS[model](rng, count)


def lines() -> Iterator[Line]:
    """Planted faults are AR(0.5), 4 x 1000, d=5; the others come from NUTS."""
    for name, fault in planted_faults():
        yield Line(name, "wrong", partial(planted, fault=fault), PLANTED)
    yield Line(
        "centred eight schools, NUTS as it comes, 4 x 1000, d=10",
        "wrong",
        partial(sampled, model="eight schools"),
        frozenset({"never bare"}),
        replicates=40,
        needs_jax=True,
        cost=1500.0,
    )
    yield Line(
        "regression, NUTS after a warm-up of 20, 4 x 1000, d=5",
        "wrong",
        partial(sampled, model="regression"),
        frozenset({"doubted", "never bare"}),
        replicates=40,
        needs_jax=True,
        cost=3000.0,
    )
