"""Correct draws that `check` once rejected too often, or did not judge: the part ``harder``.

`tests/statistical/test_samplers_beyond.py` shows that every row is an exact draw of its target. The
chains of the Poisson model come from NUTS with an ordinary warm-up, and have facts: ArviZ's R-hat
and ESS, by which a run is healthy or not.
"""

from collections.abc import Callable, Iterator
from functools import partial

from studies.chains_beyond.correct import Chains, ar, standard_normal
from studies.chains_beyond.lines import Array, Drawn, Line
from tests.statistical import samplers_sticky
from tests.statistical.samplers import Generator

PART = "harder"
SIZE, SMALLER_SIZE = frozenset({"size", "rare"}), frozenset({"smaller size", "rare"})
TAILS = frozenset({"size", "tails"})
HEALTHY = frozenset({"size", "rare", "healthy runs decide"})
HIDDEN_FREEDOM, WALK_FREEDOM = 4, 3.0
Score = Callable[[Array], Array]


def chains_of(
    rng: Generator,
    count: int,
    *,
    sampler: Chains,
    score: Score,
    chains: int,
    rows: int,
    dimension: int,
) -> Drawn:
    """Chains of a target with this score, all replicates side by side."""
    draws = sampler(rng, count * chains, rows, dimension)
    draws = draws.reshape(count, chains, rows, dimension)
    return Drawn(draws, score(draws))


def student_t_score(draws: Array, freedom: float) -> Array:
    """The score of independent Student's t variables."""
    score: Array = -(freedom + 1.0) * draws / (freedom + draws**2)
    return score


def glmm(rng: Generator, count: int) -> Drawn:
    """BlackJAX's NUTS of a Poisson model; JAX is imported when it is first needed."""
    from studies.chains_beyond import nuts_glmm

    return nuts_glmm.poisson(rng, count)


def lines() -> Iterator[Line]:
    """Slow scales, long stays, short chains, heavy tails, and a hierarchical model."""
    for rows in (1000, 4000):
        sampler = partial(samplers_sticky.hidden_scale, freedom=HIDDEN_FREEDOM, memory=0.998)
        draw = partial(
            chains_of,
            sampler=sampler,
            score=partial(student_t_score, freedom=HIDDEN_FREEDOM),
            chains=4,
            rows=rows,
            dimension=4,
        )
        name = f"t(4), hidden scale AR(0.998), 4 x {rows}, d=4"
        yield Line(name, PART, draw, SIZE, cost=0.1 * rows)
    noisy = partial(samplers_sticky.pseudo_marginal, noise=2.2, size=1.0)
    narrow = partial(samplers_sticky.independence_sampler, spread=0.7)
    for name, sampler in (("pseudo-marginal, noise 2.2", noisy), ("independence sampler", narrow)):
        draw = partial(standard_normal, sampler=sampler, chains=4, rows=1000, dimension=4)
        yield Line(f"{name}, 4 x 1000, d=4", PART, draw, SIZE)
    for chains, rows in ((32, 40), (40, 25)):
        draw = partial(standard_normal, sampler=ar(0.6), chains=chains, rows=rows, dimension=4)
        yield Line(f"AR(0.6), {chains} x {rows}, d=4", PART, draw, SMALLER_SIZE, replicates=1000)
    walk = partial(samplers_sticky.student_t_walk, freedom=WALK_FREEDOM, size=1.0)
    draw = partial(
        chains_of,
        sampler=walk,
        score=partial(student_t_score, freedom=WALK_FREEDOM),
        chains=4,
        rows=1000,
        dimension=4,
    )
    yield Line("t(3), random walk, 4 x 1000, d=4", PART, draw, TAILS, replicates=2000)
    yield Line(
        "Poisson GLMM, NUTS after an ordinary warm-up, 4 x 1000, d=13",
        PART,
        glmm,
        HEALTHY,
        needs_jax=True,
        cost=3000.0,
    )
