"""The arm of sign flips, and the loops over flips and features that it is compared with."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter

import polystein as ps
from polystein.data.coordinates import DrawMoments, Frame
from polystein.data.passes import every_row, run_pass
from polystein.methods.check import flips as sign_flips
from polystein.methods.check.batches import cut
from polystein.methods.check.flips import flip_signs
from polystein.methods.check.forms import FEWEST_INDEPENDENT_A_COORDINATE, LEAST_DEFLATION
from polystein.methods.check.statistics import BASIS, FEWEST_ROWS_FOR_SPREADS, TAILS
from polystein.methods.check.sums import BatchSums
from polystein.results.evidence import Abstention, Arm
from tests.conftest import Array
from tests.inference.batch_cases import RULES
from tests.methods.check.sums import (
    ORDERS,
    SHARES,
    fewest_batches,
    is_correlated,
    literal_families,
    literal_products,
    random_sums,
    shares_of,
)
from tests.reference import check as literal
from tests.reference import invariant as literal_invariant
from tests.reference import memory as literal_memory

NAMES = "abcdefgh"


def flips_of(
    sums: Any, rng: Any = 0, left_out: Any = (), levels: Any = ()
) -> list[Arm | Abstention]:
    """The arm of these sums, without the coordinates of these numbers, and what it cannot judge."""
    dimension = sums.source.layout.dimension
    slow = np.isin(np.arange(dimension), left_out)
    rng = np.random.default_rng(rng)
    return flip_signs(sums, NAMES[:dimension], rng, left_out=slow, levels=levels)


def tried(sums: Any, rng: Any = 0, left_out: Any = (), levels: Any = ()) -> Arm | Abstention:
    """The arm, or why there is none."""
    return flips_of(sums, rng, left_out, levels)[0]


def judged(sums: Any, rng: Any = 0, left_out: Any = (), levels: Any = ()) -> Arm:
    arm = tried(sums, rng, left_out, levels)
    assert isinstance(arm, Arm)
    return arm


def standard_frame(sample: ps.Sample) -> Frame:
    moments = DrawMoments(sample.layout.dimension)
    run_pass(sample, every_row(sample), moments)
    return moments.standard_frame()


def sums_of(sample: ps.Sample, *, chains: bool = False) -> BatchSums:
    """Sums over batches, with the pairs that are looked at."""
    places, orders = cut(sample.layout, chains=chains), (1, 3)
    frame = standard_frame(sample)
    return BatchSums(sample, frame, BASIS, places, orders, TAILS, robust=frame).take()


def signs_of(seed: int, batches: int, stages: Any = None) -> list[Array]:
    """The draws as they are, and fair signs for every batch, stage by stage."""
    rng, result = np.random.default_rng(seed), []
    bounds = [1, *(stages or [sign_flips.FIRST_PATTERNS])]
    for low, high in itertools.pairwise(bounds):
        bits = rng.integers(0, 2, size=(high - low, batches), dtype=np.int8)
        result.append(np.where(bits == 1, -1.0, 1.0))
    result[0] = np.concatenate([np.ones((1, batches)), result[0]])
    return result


def worth_of(memory: literal_memory.Memory, rows: float) -> float:
    """Independent rows, if the correlations are those of an AR(1) chain of this memory."""
    coefficient = (math.sqrt(memory.rows**2 + 1) - 1) / memory.rows if memory.rows > 0 else 0.0
    return float(rows * (1 - coefficient) / (1 + coefficient))


def literal_pools(sums: Any, name: str, columns: Array, left_out: Any) -> list[literal.Pool]:
    """Features of a family that are judged, by their memory; pairs are pooled part by part."""
    d, sizes, chains = sums.diagonal.shape[2], sums.sizes.tolist(), sums.chains.tolist()
    joinings = literal_memory.levels(chains, RULES.fewest_a_chain)
    found: list[tuple[list[int], literal_memory.Memory]] = []
    for part in sums.parts_of(name, columns.shape[1]):
        pairs = name.endswith("pairs")
        kept = [j for j in part if j % d not in left_out and not (pairs and j // d in left_out)]
        if name == "trace":
            kept = [0]
        if len(joinings) == 1 or not kept:
            found.append((kept, literal_memory.Memory(0, 1.0, 0.0)))
            continue
        table = literal_memory.curves(columns[:, kept], sizes, chains, joinings)
        careful = name == "trace" or is_correlated(sums, left_out)
        own = literal_memory.speeds(table, joinings, sizes, chains, RULES, careful=careful)
        found += [([kept[j] for j in features], memory) for features, memory in own]
    return [
        literal.Pool(own, joinings[memory.level], memory.deflation)
        for own, memory in found
        if own
        and memory.deflation >= LEAST_DEFLATION
        and len(joinings[memory.level]) >= fewest_batches(name)
        and (
            name not in ("x", "tails")
            or len(joinings) == 1
            or worth_of(memory, sum(sizes)) >= FEWEST_ROWS_FOR_SPREADS
        )
    ]


def literal_forms(sums: Any, left_out: Any) -> dict[str, literal.JudgedForm]:
    """The quadratic forms that are judged."""
    sizes, chains = sums.sizes.tolist(), sums.chains.tolist()
    joinings = literal_memory.levels(chains, RULES.fewest_a_chain)
    found = {}
    for name, products in literal_products(sums, left_out).items():
        memory = literal_invariant.form_memory(products, sizes, chains, joinings, RULES)
        groups = joinings[memory.level]
        own = [chains[group[0]] for group in groups] if len(joinings) > 1 else None
        kept = literal_invariant.without_neighbours(literal_invariant.joined(products, groups), own)
        few = len(groups) < fewest_batches(name)
        coordinates = sums.diagonal.shape[2] - len(left_out)
        worth = worth_of(memory, sum(sizes))
        short = len(joinings) > 1 and worth < FEWEST_INDEPENDENT_A_COORDINATE * coordinates
        if memory.deflation >= LEAST_DEFLATION and not (few or short) and kept.any():
            share = shares_of(sums, left_out)[f"{name}: sum"]
            found[name] = literal.JudgedForm(kept, groups, memory.deflation, share)
    return found


def literal_arm(
    sums: Any, stages: list[Array], left_out: Any = (), levels: Any = ()
) -> tuple[tuple[int, int], dict[str, float]]:
    """How many of how many flips are extreme, and each statistic's own tail among the flips."""
    families, forms = [], literal_forms(sums, left_out)
    for name, columns in literal_families(sums, left_out).items():
        pools = literal_pools(sums, name, columns, left_out)
        # A family of which nothing moves is left out.
        if any(columns[:, own.columns].any() for own in pools):
            of_all = shares_of(sums, left_out, hotelling="Hotelling" in forms)
            shares = of_all.get(f"{name}: sum", 0.0), of_all.get(f"{name}: max", 0.0)
            families.append((name, (columns, pools, *shares)))
    judged_families = [own for _, own in families]
    extreme, patterns = literal.flipped(judged_families, list(forms.values()), stages, levels)
    signs = np.concatenate(stages)[:patterns]
    shown: dict[str, float] = {}
    for name, (columns, pools, *_) in families:
        total, largest = literal.statistics(columns, signs, pools)
        moments = literal.sum_moments(columns, pools)
        tails = {
            "sum": literal.gamma_tail(total[:1], *moments),
            "max": literal.maximum_tail(largest[:1], largest[1:]),
        }
        for kind, tail in tails.items():
            if f"{name}: {kind}" in SHARES:
                shown[f"{name}: {kind}"] = float(tail[0])
    for name, form in forms.items():
        shown[f"{name}: sum"] = float(literal_invariant.tail(form.values(signs), form.kept)[0])
    return (extreme, patterns), shown


def assert_is_loop(
    sums: Any, seed: int, stages: Any = None, left_out: Any = (), levels: Any = ()
) -> Arm:
    """The arm has the loops' p-value and the loops' tails."""
    arm = judged(sums, seed, left_out, levels)
    signs = signs_of(seed, sums.count, stages)
    (extreme, patterns), tails = literal_arm(sums, signs, left_out, levels)
    assert arm.pvalue == pytest.approx(extreme / patterns, abs=1e-12)
    assert {part.name: part.pvalue for part in arm.parts} == pytest.approx(tails, rel=1e-9)
    return arm


def remembering_sums(
    seed: int, counts: Any, d: int, remembered: float, slow: Any = (), mean: float = 0.0
) -> Any:
    """Sums over batches of chains that remember, some coordinates longer than the others."""
    rng = np.random.default_rng(seed)
    chains = np.repeat(np.arange(len(counts)), counts)
    sums = random_sums(rng, chains.size, d, chains=chains)
    pairs = (next(sums.pairs(order)) for order in ORDERS.values())
    for table in (sums.diagonal, sums.tails, sums.waves, *pairs):
        noise = rng.standard_normal(table.shape)
        for j in range(d):
            rho = 0.97 if j in slow else remembered
            table[..., j] = lfilter([1.0], [1.0, -rho], noise[..., j], axis=0) + mean
    sums.score_products = sums.diagonal[:, 0].T @ sums.diagonal[:, 0] + np.eye(d)
    own = np.arange(d)
    for order in ORDERS.values():
        next(sums.pairs(order))[:, own, own] = 0.0
    return sums
