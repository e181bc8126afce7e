"""Choose how the statistics of `check` share the level: ``python -m studies.check choose``.

`training` has the p-value p_k of every statistic on many sets of draws. Those of an arm other than
the sign flips count as one, by Bonferroni. With shares a_k of the level, a set counts as rejected
if p_k <= 0.05 a_k for any k (`check` itself calibrates the sign flips together and rejects a little
more often). The *loss* of a fault is the power of its best single statistic with the whole level,
minus the power with the shares. Which statistic is best is found on one half of the sets, and its
power is that on the other half: the largest of many rates is too large by chance. The *fall* of a
fault that was published is what `check` had found of it with the shares before (``earlier.csv``,
which ``--keep`` writes), minus the power with the new ones, or 0. The objective is

    largest loss + mean loss + 2 (largest fall + mean fall),

and the shares descend it: a part of the share of one statistic goes to another while that helps,
in parts that are halved down to one step of a coarse grid. Each keeps one step, for the list of
faults is not that of all faults. On the way down a set counts as rejected in part if its smallest
p_k/(0.05 a_k) is near 1, so that small moves are felt; reports count whole sets. There are two
tables, for uncorrelated and for correlated coordinates; a set between the two has shares between
them. Arms other than the sign flips have one share in both.

What a statistic buys is the largest power that any fault loses without it, its share given to the
others. Statistics that buy less than 0.02 are dropped one after the other, the least first, and the
shares are chosen again for those that are left.
"""

import argparse
import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from polystein._lib.numerics import TINY
from polystein.experiments.engine.store import write_text
from polystein.methods.check.statistics import FLIPS, MANY_COORDINATES, SQUARE, TRACE
from polystein.types import FloatArray
from studies._table import LEVEL
from studies.check.training import Found, found_on

FOLDER = Path(__file__).parent
SETS = 50
#: Shares are whole units of 1/200, and what one statistic gives to another is so many units.
UNITS, STEPS = 200, (16, 8, 4, 2, 1)
#: A set whose smallest p-value is r times its bound counts by 1/(1 + r^(1/SOFTNESS)) on the way.
SOFTNESS = 0.3
#: Falls count this many times as much as losses.
WEIGHT_OF_FALLS = 2.0
#: Faults of these studies were published with the shares before.
PUBLISHED = ("paper", "beyond", "correlated", "posteriors", "rows_needed", "chains_beyond")
#: The one statistic of an arm other than the sign flips.
ALL = "all"
#: Weights between uncorrelated and correlated are rounded to a tenth.
WEIGHT_DIGITS = 1
#: What a statistic must buy on some fault to stay.
LEAST_BOUGHT = 0.02
TABLES = ("uncorrelated", "correlated")
#: Where the first is not judged, the second has its share.
HOTELLING, SCORES = "Hotelling: sum", "score: sum"


class Evidence(NamedTuple):
    """P-values of all sets, (set, statistic), 1 where a statistic did not judge.

    Sets of one kind have the same weight of the correlated shares, the same dimension (up to
    `MANY_COORDINATES`) and the same statistics that judge.
    """

    statistics: tuple[str, ...]
    arms: tuple[str, ...]
    pvalues: FloatArray
    kind_of: NDArray[np.intp]
    weights: FloatArray
    dimensions: FloatArray
    judges: NDArray[np.bool_]
    faults: tuple[str, ...]
    fault_of: NDArray[np.intp]
    #: P-values of `check` itself.
    whole: FloatArray

    @property
    def of_flips(self) -> NDArray[np.bool_]:
        """Which statistics have a share in each table."""
        return np.array([arm == FLIPS for arm in self.arms])


def evidence_of(found: Sequence[Found]) -> Evidence:
    """The p-values of several sets in one array."""
    sets = [_with_whole_arms(one) for one in found]
    # The sign flips come first, as they do in the code.
    names = sorted(
        dict.fromkeys(key for one in sets for key in one), key=lambda key: key[0] != FLIPS
    )
    pvalues = np.array([[one.get(key, np.nan) for key in names] for one in sets])
    judges = ~np.isnan(pvalues)
    weights = [round(one.weight, WEIGHT_DIGITS) for one in found]
    dimensions = [min(one.dimension, MANY_COORDINATES) for one in found]
    kinds, kind_of = np.unique(
        np.column_stack([weights, dimensions, judges]), axis=0, return_inverse=True
    )
    faults = tuple(dict.fromkeys(one.label for one in found))
    places = {label: place for place, label in enumerate(faults)}
    return Evidence(
        tuple(part for _, part in names),
        tuple(arm for arm, _ in names),
        np.where(judges, np.maximum(pvalues, TINY), 1.0),
        kind_of.ravel(),
        kinds[:, 0],
        kinds[:, 1],
        kinds[:, 2:] > 0.0,
        faults,
        np.array([places[one.label] for one in found]),
        np.array([one.pvalue for one in found]),
    )


def _with_whole_arms(one: Found) -> dict[tuple[str, str], float]:
    """P-values of one set by arm and statistic: one for each arm other than the sign flips."""
    found = {}
    for arm, parts in one.parts.items():
        if arm == FLIPS:
            found |= {(arm, part): pvalue for part, pvalue in parts.items()}
        elif parts:
            found[arm, ALL] = min(1.0, len(parts) * min(parts.values()))
    return found


def shares_of_kinds(evidence: Evidence, tables: FloatArray) -> FloatArray:
    """The share of every statistic on every kind of set, (kind, statistic), from the two tables.

    What a statistic that does not judge would have goes to the others of its arm, and what an arm
    without any would have goes to the other arms.
    """
    judges, weights = evidence.judges, evidence.weights[:, None]
    shares = (1.0 - weights) * tables[0] + weights * tables[1]
    names = np.array(evidence.statistics)
    if HOTELLING in evidence.statistics and SCORES in evidence.statistics:
        lost = np.where(judges[:, names == HOTELLING], 0.0, shares[:, names == HOTELLING])
        shares[:, names == SCORES] += lost
    traces = np.isin(names, [f"{TRACE}: sum", f"{SQUARE}: sum"])
    shares[:, traces] *= (evidence.dimensions / MANY_COORDINATES)[:, None]
    shares *= judges
    arms = np.array(evidence.arms)
    for arm in dict.fromkeys(evidence.arms):
        own = arms == arm
        whole = (1.0 - weights[:, 0]) * tables[0, own].sum() + weights[:, 0] * tables[1, own].sum()
        there = shares[:, own].sum(axis=1)
        factor = np.divide(whole, there, out=np.zeros_like(there), where=there > 0.0)
        shares[:, own] *= factor[:, None]
    total = shares.sum(axis=1, keepdims=True)
    return np.divide(shares, total, out=np.zeros_like(shares), where=total > 0.0)


def ratios(evidence: Evidence, tables: FloatArray) -> FloatArray:
    """The smallest p_k/(0.05 a_k) of every set, which is rejected if that is at most 1."""
    with np.errstate(divide="ignore"):
        bounds = 1.0 / (LEVEL * shares_of_kinds(evidence, tables))
    return np.min(evidence.pvalues * bounds[evidence.kind_of], axis=1)


def softened(ratio: FloatArray) -> FloatArray:
    """How far a set counts as rejected: by half if the ratio is 1."""
    result: FloatArray = expit(-np.log(ratio) / SOFTNESS)
    return result


def rates(evidence: Evidence, rejected: NDArray[np.generic]) -> FloatArray:
    """How often each fault is rejected; `rejected` has one entry or row for each set."""
    counts = np.bincount(evidence.fault_of, minlength=len(evidence.faults))
    if rejected.ndim == 1:
        return np.bincount(evidence.fault_of, rejected, len(evidence.faults)) / counts
    return np.stack([rates(evidence, column) for column in rejected.T], axis=1)


def powers(evidence: Evidence, tables: FloatArray) -> FloatArray:
    """The power against each fault with these shares."""
    return rates(evidence, ratios(evidence, tables) <= 1.0)


def single_powers(evidence: Evidence) -> FloatArray:
    """The power of every statistic alone, with the whole level, (fault, statistic)."""
    return rates(evidence, evidence.pvalues <= LEVEL)


def soft_powers(evidence: Evidence, tables: FloatArray) -> FloatArray:
    """The power against each fault as the descent sees it."""
    return rates(evidence, softened(ratios(evidence, tables)))


def best_powers(evidence: Evidence, counted: NDArray[np.generic]) -> FloatArray:
    """The power of the best single statistic of each fault, with the whole level.

    ``counted`` says how far a statistic alone rejects a set, (set, statistic). Sets take turns: the
    statistic that is best on the one half of a fault's sets is judged on the other.
    """
    turn = np.arange(len(counted)) % 2
    halves = [
        rates(evidence._replace(fault_of=evidence.fault_of[own]), counted[own])
        for own in (turn == 0, turn == 1)
    ]
    places = np.arange(len(evidence.faults))
    first, second = (other[places, half.argmax(axis=1)] for half, other in (halves, halves[::-1]))
    return (first + second) / 2.0


def objective(power: FloatArray, best: FloatArray, earlier: FloatArray) -> float:
    """The largest loss and the mean loss, plus falls; what was not published has no ``earlier``."""
    losses = best - power
    falls = np.maximum(earlier - power, 0.0)[~np.isnan(earlier)]
    of_falls = falls.max() + falls.mean() if falls.size else 0.0
    return float(losses.max() + losses.mean() + WEIGHT_OF_FALLS * of_falls)


class Earlier(NamedTuple):
    """What `check` found of each fault with the shares before, counted whole and softened.

    NaN for faults that were not published.
    """

    rates: FloatArray
    softened: FloatArray


def earlier_of(evidence: Evidence, folder: Path = FOLDER) -> Earlier:
    """What the committed table holds of these faults."""
    path, known = folder / "earlier.csv", {}
    if path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            known = {row["fault"]: row for row in csv.DictReader(file)}
    columns = (
        np.array([float(known[f][column]) if f in known else np.nan for f in evidence.faults])
        for column in Earlier._fields
    )
    return Earlier(*columns)


def earlier_text(evidence: Evidence) -> str:
    """What `check` finds now of the faults that are published."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["fault", *Earlier._fields])
    whole = rates(evidence, evidence.whole <= LEVEL)
    soft = rates(evidence, softened(evidence.whole / LEVEL))
    for fault, one, other in zip(evidence.faults, whole, soft, strict=True):
        if fault.split(": ")[0] in PUBLISHED:
            writer.writerow([fault, f"{one:.4f}", f"{other:.4f}"])
    return text.getvalue()


def even_units(kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Nearly equal shares of those that are kept, in units; what is left goes to the first."""
    shares = np.where(kept, UNITS // kept.sum(), 0)
    shares[np.flatnonzero(kept)[0]] += UNITS - shares.sum()
    return np.stack([shares, shares])


def moves(evidence: Evidence, kept: NDArray[np.bool_]) -> Iterator[tuple[list[int], int, int]]:
    """Tables, giver and taker of every move; other arms than the flips move in both tables."""
    places, flips = np.flatnonzero(kept), evidence.of_flips
    for giver in places:
        for taker in places:
            if giver != taker:
                yield [0, 1], int(giver), int(taker)
                if flips[giver] and flips[taker]:
                    yield [0], int(giver), int(taker)
                    yield [1], int(giver), int(taker)


def chosen_tables(evidence: Evidence, kept: NDArray[np.bool_], earlier: FloatArray) -> FloatArray:
    """Descend the objective from equal shares; the first move that helps is made at once."""
    units = even_units(kept)
    best = best_powers(evidence, softened(evidence.pvalues / LEVEL))
    value = objective(soft_powers(evidence, units / UNITS), best, earlier)
    for step in STEPS:
        helped = True
        while helped:
            helped = False
            for rows, giver, taker in moves(evidence, kept):
                if units[rows, giver].min() <= step:
                    continue
                tried = units.copy()
                tried[rows, giver] -= step
                tried[rows, taker] += step
                new = objective(soft_powers(evidence, tried / UNITS), best, earlier)
                if new < value - 1e-9:
                    units, value, helped = tried, new, True
    return units / UNITS


def without(tables: FloatArray, statistic: int) -> FloatArray:
    """The tables with the share of one statistic given to all others."""
    left = tables.copy()
    left[:, statistic] = 0.0
    total = left.sum(axis=1, keepdims=True)
    return np.divide(left, total, out=np.zeros_like(left), where=total > 0.0)


class Bought(NamedTuple):
    """What a statistic buys: the largest power lost without it, and the fault that loses it."""

    power: float
    fault: str


def bought(evidence: Evidence, tables: FloatArray, statistic: int) -> Bought:
    """What one statistic buys beside the others."""
    lost = powers(evidence, tables) - powers(evidence, without(tables, statistic))
    place = int(np.argmax(lost))
    return Bought(float(lost[place]), evidence.faults[place])


class Choice(NamedTuple):
    """Shares with every statistic, what each buys beside all others, and what is left of them."""

    all_tables: FloatArray
    bought: list[Bought]
    dropped: list[tuple[int, Bought]]
    tables: FloatArray


def choose(evidence: Evidence, earlier: FloatArray) -> Choice:
    """Choose shares, drop what does not pay, and choose again."""
    kept = np.ones(len(evidence.statistics), dtype=bool)
    all_tables = chosen_tables(evidence, kept, earlier)
    every = [bought(evidence, all_tables, k) for k in range(kept.size)]
    tables, dropped = all_tables, []
    while kept.sum() > 1:
        found = {int(k): bought(evidence, tables, int(k)) for k in np.flatnonzero(kept)}
        least = min(found, key=lambda k: (found[k].power, tables[:, k].sum()))
        if found[least].power >= LEAST_BOUGHT:
            break
        dropped.append((least, found[least]))
        kept[least] = False
        tables = without(tables, least)
    if dropped:
        tables = chosen_tables(evidence, kept, earlier)
    return Choice(all_tables, every, dropped, tables)


def report(faults: Evidence, choice: Choice, earlier: FloatArray, sets: int) -> list[str]:
    """What was chosen, what is lost on each fault, and what each statistic buys."""
    alone = single_powers(faults)
    best = best_powers(faults, faults.pvalues <= LEVEL)
    power = powers(faults, choice.tables)
    losses = best - power
    falls = np.maximum(earlier - power, 0.0)
    lines = [f"{sets} sets of each of {len(faults.faults)} faults", ""]
    lines += [f"loss: largest {losses.max():.3f}, mean {losses.mean():.3f}"]
    if not np.isnan(falls).all():
        lines += [f"fall: largest {np.nanmax(falls):.3f}, mean {np.nanmean(falls):.3f}"]
    lines += ["", "what each statistic buys beside all others, and where:"]
    order = sorted(range(len(choice.bought)), key=lambda k: -choice.bought[k].power)
    for k in order:
        one, shares = choice.bought[k], choice.all_tables[:, k]
        words = f"{one.power:6.3f}  shares {shares[0]:.3f} {shares[1]:.3f}  "
        lines.append(words + f"{faults.arms[k]}: {faults.statistics[k]}  ({one.fault})")
    lines += ["", "dropped one after the other, with the most that was lost by it:"]
    for k, one in choice.dropped:
        lines.append(f"{one.power:6.3f}  {faults.arms[k]}: {faults.statistics[k]}  ({one.fault})")
    lines += ["", "loss  power  best  earlier  fault (best single statistic)"]
    for place in np.argsort(-losses, kind="stable"):
        name = faults.statistics[int(np.argmax(alone[place]))]
        numbers = (losses[place], power[place], best[place], earlier[place])
        lines.append("  ".join(f"{x:.3f}" for x in numbers) + f"  {faults.faults[place]} ({name})")
    return lines


def table_text(evidence: Evidence, tables: FloatArray) -> str:
    """The chosen shares as a table; statistics that were dropped have none."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["arm", "statistic", *TABLES])
    for k, (arm, name) in enumerate(zip(evidence.arms, evidence.statistics, strict=True)):
        if tables[:, k].any():
            writer.writerow([arm, name, *(f"{share:g}" for share in np.round(tables[:, k], 6))])
    return text.getvalue()


def chosen_shares(folder: Path = FOLDER) -> dict[tuple[str, str], tuple[float, float]]:
    """What the committed table holds: shares by arm and statistic, for both kinds."""
    with (folder / "chosen.csv").open(newline="", encoding="utf-8") as file:
        return {
            (row["arm"], row["statistic"]): (float(row[TABLES[0]]), float(row[TABLES[1]]))
            for row in csv.DictReader(file)
        }


def main(arguments: Sequence[str]) -> int:
    """The command ``choose``."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.check choose",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--sets", type=int, default=SETS, help=f"sets of each (default {SETS})")
    parser.add_argument("--only", metavar="TEXT", default="", help="only sets with this name")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of chosen.csv and .txt")
    parser.add_argument(
        "--keep", action="store_true", help="write what `check` finds now to earlier.csv, and stop"
    )
    options = parser.parse_args(arguments)
    faults = evidence_of(found_on(options.sets, options.only, options.jobs))
    if options.keep:
        write_text(options.out / "earlier.csv", earlier_text(faults))
        return 0
    earlier = earlier_of(faults)
    choice = choose(faults, earlier.softened)
    lines = report(faults, choice, earlier.rates, options.sets)
    write_text(options.out / "chosen.csv", table_text(faults, choice.tables))
    write_text(options.out / "chosen.txt", "\n".join([*lines, ""]))
    print("\n".join(lines))
    return 0
