"""`check` on faults that it did not see once, beside KSD and KSDAgg on 500 of the same rows.

Magnitudes that are tied, signs of three coordinates and more that are tied, and fine structure of
one coordinate: every one of them leaves means, variances and correlations (nearly) as they were.
Draws of the first two kinds are four independent chains of independent rows, and `check` is not
told so. Those of the third are 500 independent rows. KSD and KSDAgg see 500 rows, evenly taken.
KSDAgg has the first 50 replicates only, and B1 = 500, B2 = 250 instead of 2000 and 500.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.summary import markdown_table
from studies._table import Study, decision, without_method
from studies.check import SEED, milliseconds
from studies.check import blind_spot_draws as spots
from studies.check.alternatives import Generator, Pair
from studies.check.blind_spot_draws import Draw

REPLICATES, AGGREGATED = 300, 50
CHAINS, FEW_ROWS = 4, 500
#: Rates that are promised: of fine structure, of magnitudes where KSD has at least `SEEN`, and of
#: three signs in three dimensions.
FINE, MAGNITUDES, SEEN, SIGNS = 0.95, 0.95, 0.4, 0.9


class Spot(NamedTuple):
    """What the table calls a fault, how it is drawn, and how many rows and coordinates there are.

    ``chains`` says whether the rows come as chains. ``promised`` is the rate that is asked for, and
    ``where_seen`` whether it is asked for only if KSD has at least `SEEN`.
    """

    label: str
    draw: Draw
    rows: int
    dimension: int
    chains: bool = True
    promised: float | None = None
    where_seen: bool = False

    def drawn(self, rng: Generator) -> Pair:
        """Draws and scores as `check` gets them."""
        draws, scores = self.draw(rng, self.rows, self.dimension)
        if not self.chains:
            return draws, scores
        shape = (CHAINS, self.rows // CHAINS, self.dimension)
        return draws.reshape(shape), scores.reshape(shape)

    def few(self, pair: Pair) -> Pair:
        """About 500 of the rows, evenly taken, as independent ones."""
        step = self.rows // FEW_ROWS
        draws, scores = (one.reshape(self.rows, self.dimension)[::step] for one in pair)
        return draws, scores


def spots_of_magnitudes() -> Iterator[Spot]:
    """Ties of magnitudes: those that were found missing, and six more."""
    tie = partial(Spot, promised=MAGNITUDES, where_seen=True)
    yield tie("x₁ = ±x₀", spots.same_magnitudes, 4_000, 2)
    yield tie("x₁ = ±x₀", spots.same_magnitudes, 40_000, 2)
    yield tie("one magnitude", spots.same_magnitudes, 4_000, 6)
    yield tie("multivariate t(5) for independent t(5)", spots.common_scale, 4_000, 6)
    two = partial(spots.common_scale, tied=2)
    yield tie("t(5), one scale for two of eight", two, 4_000, 8)
    weak = partial(spots.gaussian_magnitudes, correlation=0.3)
    yield tie("Gaussian copula 0.3 of two magnitudes", weak, 4_000, 4)
    clayton = partial(spots.clayton_magnitudes, strength=1.0)
    yield tie("Clayton copula 1 of two magnitudes", clayton, 4_000, 8)
    yield tie("cross: opposite magnitudes", spots.opposite_magnitudes, 4_000, 4)
    board = partial(spots.board_of_magnitudes, fields=4)
    yield tie("magnitudes on a board of 4 × 4", board, 4_000, 2)
    yield tie("circle with normal margins", spots.closed_curve, 4_000, 2)


def spots_of_signs() -> Iterator[Spot]:
    """Ties of three signs and more: those that were found missing, and six more."""
    three = partial(spots.tied_sign, others=2)
    yield Spot("x₂ = |x₂| sign(x₀x₁)", three, 4_000, 3, promised=SIGNS)
    yield Spot("x₂ = |x₂| sign(x₀x₁)", three, 4_000, 8)
    for dimension in (4, 8):
        yield Spot("parity of four signs", partial(spots.tied_sign, others=3), 4_000, dimension)
    often = partial(spots.tied_sign, others=2, share=0.5)
    yield Spot("three signs tied in half of the rows", often, 4_000, 3)
    far = partial(spots.tied_far_out, least=0.5)
    yield Spot("three signs tied where all |x| ≥ 0.5", far, 4_000, 3)
    smooth = partial(spots.smooth_triple, steepness=1.0)
    yield Spot("density × (1 + tanh x₀ tanh x₁ tanh x₂)", smooth, 4_000, 5)
    yield Spot("a sign tied to two magnitudes", spots.sign_of_magnitudes, 4_000, 3)


def fine_spots() -> Iterator[Spot]:
    """Fine structure: that which was found missing in three dimensions, and six more."""
    fine = partial(Spot, rows=FEW_ROWS, chains=False, promised=FINE)
    for dimension in (2, 8, 32):
        for size, frequency in ((0.3, 4.0), (0.15, 8.0), (0.07, 8.0)):
            draw = partial(spots.rippled, size=size, frequency=frequency)
            label = f"x₀ + {size:g} sin({frequency:g} x₀)"
            yield fine(label, draw, dimension=dimension)
        for frequency in (4.0, 8.0):
            draw = partial(spots.cosine, frequency=frequency)
            yield fine(f"density × (1 + 0.9 cos({frequency:g} x₀))", draw, dimension=dimension)
        half = partial(spots.rounded, step=0.5)
        yield fine("one coordinate rounded to 0.5", half, dimension=dimension)
    variant = partial(Spot, rows=FEW_ROWS, chains=False, dimension=8)
    all_of_them = partial(spots.rippled, size=0.1, frequency=6.0, coordinates=None)
    yield variant("all x + 0.1 sin(6 x)", all_of_them)
    along = partial(spots.rippled_along, size=0.15, frequency=8.0)
    yield variant("ripple 0.15, 8 along a diagonal", along)
    saw = partial(spots.sawtooth, size=0.15, frequency=5.0)
    yield variant("x₀ + a sawtooth of 0.15, frequency 5", saw)
    yield variant("t(5), density × (1 + 0.9 cos(5 x₀))", partial(spots.cosine_of_t, frequency=5.0))
    yield variant("four of eight rounded to 0.5", partial(spots.rounded, step=0.5, coordinates=4))
    jitter = partial(spots.jittered, step=0.5, noise=0.1)
    yield variant("one coordinate rounded to 0.5, then noise 0.1", jitter)


def label_of(spot: Spot) -> str:
    """The fault with its rows and dimension: no two are alike."""
    shape = f"{CHAINS} x {spot.rows // CHAINS}" if spot.chains else f"n={spot.rows}"
    return f"{spot.label}, {shape}, d={spot.dimension}"


SPOTS = {
    label_of(spot): spot for spot in (*spots_of_magnitudes(), *spots_of_signs(), *fine_spots())
}


class Method(NamedTuple):
    """A test, its label on the page, its replicates and milliseconds; `check` sees all rows."""

    label: str
    test: Callable[..., ps.GofResult]
    replicates: int
    cost: float


METHODS = {
    "check": Method("`check`", ps.check, REPLICATES, 0.0),
    "ksd": Method("IMQ KSD", partial(ps.ksd_test, kernel=ps.IMQKernel()), REPLICATES, 12.0),
    "ksdagg": Method(
        "KSDAgg", partial(ps.ksdagg_test, n_bootstrap=500, n_correction=250), AGGREGATED, 110.0
    ),
}


def cell_of(spot: str, method: str) -> Cell:
    """One method on one fault."""
    how, fault = METHODS[method], SPOTS[spot]
    cost = how.cost or milliseconds(fault.rows, fault.dimension, found=True)
    settings = {"spot": spot, "method": method}
    return Cell.of("check-blind-spots", replicates=how.replicates, cost=cost, **settings)


def name(cell: Cell) -> str:
    """The cell in the table."""
    return f"{cell['spot']}, {cell['method']}"


def decide(replicate: Replicate) -> Sequence[Row]:
    """Whether one method rejects one set of draws: all see rows of the same."""
    method = replicate.cell["method"]
    replicate = without_method(replicate)
    spot = SPOTS[replicate.cell["spot"]]
    pair, stream = spot.drawn(replicate.generator("draws")), replicate.stream(method)
    if method == "check":
        return decision(ps.check(*pair, iid=not spot.chains, rng=stream))
    return decision(METHODS[method].test(*spot.few(pair), rng=stream))


STUDY = Study(
    Path(__file__).with_suffix(".csv"),
    tuple(cell_of(spot, method) for spot in SPOTS for method in METHODS),
    name,
    decide,
    SEED,
)


def wanted(spot: Spot, rates: Mapping[str, float]) -> float | None:
    """The rate that is promised of `check` beside these; None if nothing is."""
    if spot.where_seen and rates["ksd"] < SEEN:
        return None
    return spot.promised


class Line(NamedTuple):
    """The rates of all methods on one fault, and whether `check` has what is promised."""

    label: str
    rates: dict[str, float]
    wanted: float | None

    @property
    def holds(self) -> bool:
        """Whether `check` has what is promised; rates at the bound must not fall to rounding."""
        return self.wanted is None or self.rates["check"] >= self.wanted - 1e-12


def lines() -> list[Line]:
    """Faults for which the committed table holds every method."""
    rows, found = STUDY.stored(), []
    for label, spot in SPOTS.items():
        names = {method: name(cell_of(label, method)) for method in METHODS}
        if all(one in rows for one in names.values()):
            rates = {method: float(rows[one]["rate"]) for method, one in names.items()}
            found.append(Line(label, rates, wanted(spot, rates)))
    return found


def markdown() -> list[str]:
    """The table of ``docs/check.md``, line by line."""
    rows = []
    for line in lines():
        verdict = "" if line.wanted is None else "yes" if line.holds else "no"
        promised = "" if line.wanted is None else f"{line.wanted:g}"
        rates = [f"{line.rates[method]:.3f}" for method in METHODS]
        rows.append([line.label, *rates, promised, verdict])
    heads = ["draws", *(method.label for method in METHODS.values()), "wanted", "holds"]
    return markdown_table(heads, rows)
