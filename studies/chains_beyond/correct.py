"""Correct chains: each starts in its stationary law, and each row is an exact draw of the target.

`tests/statistical/test_samplers_beyond.py` shows that for every sampler here.
"""

from collections.abc import Callable, Iterator
from functools import partial

from studies.chains_beyond.lines import Array, Drawn, Line
from tests.statistical import samplers, samplers_kernels, samplers_memory
from tests.statistical.samplers import Gaussian, Generator, Step, autoregressive

#: A chain of these takes a generator, a number of chains, rows and the dimension.
Chains = Callable[[Generator, int, int, int], Array]
SIZE = frozenset({"size"})
#: The sign flips must not abstain from these.
FLIPS = frozenset({"size", "flips judge"})
#: About one proposal in twenty is accepted (measured in the test of the samplers).
LARGE_STEP = 2.3
WALKERS = 16


def standard_normal(
    rng: Generator, count: int, *, sampler: Chains, chains: int, rows: int, dimension: int
) -> Drawn:
    """Chains of N(0, I), all replicates side by side."""
    draws = sampler(rng, count * chains, rows, dimension)
    draws = draws.reshape(count, chains, rows, dimension)
    return Drawn(draws, -draws)


def gaussian_kernel(rng: Generator, count: int, *, target: Gaussian, step: Step) -> Drawn:
    """Four chains of 1,000 rows of a kernel that starts in its target."""
    draws = samplers.run(rng, target, step, 4 * count, 1000, thin=1, burn=0)
    draws = draws.reshape(count, 4, *draws.shape[1:])
    return Drawn(draws, -draws @ target.precision)


def ensemble(rng: Generator, count: int) -> Drawn:
    """Walkers as chains: they depend on each other."""
    target = samplers.correlated_gaussian(4)
    draws = samplers_kernels.stretch_move(rng, target, count, WALKERS, 1000)
    draws = draws.reshape(count, WALKERS, *draws.shape[1:])
    return Drawn(draws, -draws @ target.precision)


def ar(memory: float) -> Chains:
    """The sampler of AR(memory) chains."""
    return partial(autoregressive, memory=memory)


def normal_line(
    name: str,
    sampler: Chains,
    *,
    chains: int = 4,
    rows: int = 1000,
    dimension: int,
    claims: frozenset[str] = SIZE,
    cost: float = 60.0,
) -> Line:
    """A line of chains of N(0, I); its name says their number, their length and d."""
    draw = partial(standard_normal, sampler=sampler, chains=chains, rows=rows, dimension=dimension)
    full = f"{name}, {chains} x {rows}, d={dimension}"
    return Line(full, "correct", draw, claims, cost=cost)


def lines() -> Iterator[Line]:
    """All correct lines but those of independent draws."""
    yield from several_scales()
    yield from one_scale()
    yield from kernels()
    yield from lengths()


def several_scales() -> Iterator[Line]:
    """Mixed memory, momentum, rotation and stuck episodes."""
    for share, rows, dimension in (
        (0.1, 1000, 4),
        (0.1, 1000, 16),
        (0.05, 1000, 4),
        (0.1, 4000, 16),
    ):
        sampler = partial(samplers_memory.two_scale, share=share)
        name = f"two-scale, slow share {share:g}"
        yield normal_line(name, sampler, rows=rows, dimension=dimension, claims=FLIPS)
    momentum = partial(samplers_memory.generalised_hmc, angle=0.3, persistence=0.95)
    yield normal_line("generalised HMC, exact flow", momentum, dimension=4)
    for angle in (0.3, 1.0):
        turning = partial(samplers_memory.rotating, memory=0.97, angle=angle)
        yield normal_line(f"rotating AR(0.97), angle {angle:g}", turning, dimension=4)
    for dimension in (4, 16):
        stuck = partial(samplers_memory.sticky, rate=0.005, stay=50)
        yield normal_line("sticky", stuck, dimension=dimension, claims=FLIPS)
    rare = partial(samplers_memory.sticky, rate=0.001, stay=50)
    yield normal_line("sticky, rarely", rare, dimension=4, claims=FLIPS)
    langevin = partial(samplers_memory.underdamped_langevin, size=0.1, friction=1.0)
    yield normal_line("underdamped Langevin, small step", langevin, dimension=4)


def one_scale() -> Iterator[Line]:
    """AR(1) of one memory, of one for each coordinate, and of spreads only."""
    for memory in (-0.9, -0.5, 0.0, 0.5, 0.9, 0.97):
        yield normal_line(f"AR({memory:g})", ar(memory), dimension=8)
    own = partial(samplers_memory.own_memories, largest=0.99)
    yield normal_line("AR, 0 to 0.99 by coordinate", own, dimension=8)
    radius = partial(samplers_memory.slow_radius, memory=0.95)
    yield normal_line("slow radius, white signs", radius, dimension=8)


def kernels() -> Iterator[Line]:
    """Samplers with a target of their own."""
    correlated = samplers.correlated_gaussian()
    equicorrelated = samplers_kernels.equicorrelated_gaussian(4, 0.8)
    rules = {
        "MALA, correlated Gaussian, 4 x 1000, d=5": (correlated, samplers.mala_step(1.0)),
        "HMC, correlated Gaussian, 4 x 1000, d=5": (correlated, samplers.hmc_step(0.5, 3)),
        "random-walk Metropolis, 5 % accepted, correlated Gaussian, 4 x 1000, d=5": (
            correlated,
            samplers.metropolis_step(LARGE_STEP),
        ),
        "systematic Gibbs, equicorrelated Gaussian, 4 x 1000, d=4": (
            equicorrelated,
            samplers_kernels.systematic_gibbs_step(),
        ),
    }
    for name, (target, step) in rules.items():
        yield Line(name, "correct", partial(gaussian_kernel, target=target, step=step), SIZE)
    name = f"ensemble of {WALKERS} walkers, correlated Gaussian, {WALKERS} x 1000, d=4"
    yield Line(name, "correct", ensemble, SIZE, chains_depend=True, cost=120.0)
    for target in ("correlated Gaussian", "log Gamma(2)"):
        draw = partial(nuts, target=target)
        yield Line(f"NUTS, {target}, 4 x 1000, d=5", "correct", draw, SIZE, needs_jax=True)


def nuts(rng: Generator, count: int, *, target: str) -> Drawn:
    """BlackJAX's NUTS from an exact start; JAX is imported when it is first needed."""
    from studies.chains_beyond import nuts as jax_lines

    return jax_lines.from_exact_start(rng, count, target)


def lengths() -> Iterator[Line]:
    """Few draws a chain, and many chains."""
    for chains, rows in ((4, 100), (4, 200), (100, 50), (1000, 20)):
        for memory in (0.0, 0.5, 0.9):
            yield normal_line(f"AR({memory:g})", ar(memory), chains=chains, rows=rows, dimension=4)
