"""The tables of ``docs/chains_beyond.md``, from those beside the code."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from polystein.experiments.engine.summary import markdown_table
from studies import _command
from studies.chains_beyond import PARTS
from studies.chains_beyond.judgements import judgements, power_kept
from studies.chains_beyond.lines import Line, lines_of
from studies.chains_beyond.runs import Place, read_facts
from studies.chains_beyond.true_ess import least_draws

PAGE = Path(__file__).parents[2] / "docs" / "chains_beyond.md"
Row = Mapping[str, str]


def rate(row: Row, *names: str) -> str:
    """The share of the replicates that these counts make up together."""
    return f"{sum(int(row[name]) for name in names) / int(row['replicates']):.3f}"


def holds(line: Line, row: Row, least_ess: float | None = None) -> str:
    """Whether every claim about a line holds; those that do not are named."""
    broken = [one.claim for one in judgements(line, row, least_ess) if not one.holds]
    return "no: " + ", ".join(broken) if broken else "yes"


def correct(place: Place) -> list[str]:
    """Correct chains: verdicts, abstentions, and the least true number of effective draws."""
    head = ["correct draws", "of", "rejected", "inconclusive", "error", "flips abstain"]
    head += ["trained abstain", "agreement abstains", "agreement alone", "least true ESS", "holds"]
    stored, rows = place.stored("correct"), []
    for line in lines_of("correct"):
        row = stored.get(line.name)
        if row is None:
            continue
        least = least_draws(line)
        shown = "" if least is None else f"{least:,.0f}"
        absent = [rate(row, f"{arm}_abstained") for arm in ("flips", "trained", "agreement")]
        counts = [rate(row, "rejected"), rate(row, "inconclusive"), rate(row, "error"), *absent]
        counts += [rate(row, "agreement_alone"), shown, holds(line, row, least)]
        rows.append([line.name, f"{int(row['replicates']):,}", *counts])
    return markdown_table(head, rows)


def wrong(place: Place) -> list[str]:
    """Faults: the rate of each verdict."""
    head = [
        "draws with a fault",
        "of",
        "rejected",
        "inconclusive",
        "not rejected",
        "error",
        "holds",
    ]
    stored, rows = place.stored("wrong"), []
    for line in lines_of("wrong"):
        row = stored.get(line.name)
        if row is None:
            continue
        names = ("rejected", "inconclusive", "not_rejected", "error")
        rates = [rate(row, name) for name in names]
        rows.append([line.name, f"{int(row['replicates']):,}", *rates, holds(line, row)])
    return markdown_table(head, rows)


def independent(place: Place) -> list[str]:
    """Independent draws: how often the p-value is at most 0.05, 0.01 and 0.001."""
    head = ["independent draws", "of", "p ≤ 0.05", "p ≤ 0.01", "p ≤ 0.001", "inconclusive"]
    stored, rows = place.stored("independent"), []
    for line in lines_of("independent"):
        row = stored.get(line.name)
        if row is None:
            continue
        tails = [f"{int(row[f'p_{p}']) / int(row['replicates']):.4f}" for p in (0.05, 0.01, 0.001)]
        counts = [*tails, rate(row, "inconclusive"), holds(line, row)]
        rows.append([line.name, f"{int(row['replicates']):,}", *counts])
    return markdown_table([*head, "holds"], rows)


def power(place: Place) -> list[str]:
    """Two faults by this `check` and by that of an earlier commit, on the same draws."""
    head = ["draws with a fault", "of", "rejected", "inconclusive", "earlier", "commit", "holds"]
    now, before = place.stored("power"), earlier_place(place).stored("power")
    rows = []
    for line in lines_of("power"):
        if line.name not in now or line.name not in before:
            continue
        row, old = now[line.name], before[line.name]
        verdict = "yes" if power_kept(row, old) else "no"
        rates = [rate(row, "rejected"), rate(row, "inconclusive"), rate(old, "rejected")]
        commit = old["commit"][:7]
        rows.append([line.name, f"{int(row['replicates']):,}", *rates, commit, verdict])
    return markdown_table(head, rows)


def earlier_place(place: Place) -> Place:
    """Where the table of the earlier commit is."""
    return Place(place.tables, place.records, "earlier")


def axes(place: Place) -> list[str]:
    """Swapped axes: how often that is an error."""
    head = ["draws handed over as", "of", "error", "rejected", "holds"]
    stored, rows = place.stored("axes"), []
    for line in lines_of("axes"):
        row = stored.get(line.name)
        if row is not None:
            rates = [rate(row, "error"), rate(row, "rejected"), holds(line, row)]
            rows.append([line.name, f"{int(row['replicates']):,}", *rates])
    return markdown_table(head, rows)


def harder(place: Place) -> list[str]:
    """Further correct draws: verdicts, and how often the p-value is very small."""
    head = ["correct draws", "of", "rejected", "inconclusive", "error", "p ≤ 0.01", "p ≤ 0.001"]
    stored, rows = place.stored("harder"), []
    for line in lines_of("harder"):
        row = stored.get(line.name)
        if row is None:
            continue
        tails = [f"{int(row[f'p_{p}']) / int(row['replicates']):.4f}" for p in (0.01, 0.001)]
        counts = [rate(row, "rejected"), rate(row, "inconclusive"), rate(row, "error"), *tails]
        rows.append([line.name, f"{int(row['replicates']):,}", *counts, holds(line, row)])
    return markdown_table([*head, "holds"], rows)


def schools(place: Place) -> list[str]:
    """Centred eight schools: verdicts by what the usual diagnostics say."""
    head = [
        "centred eight schools",
        "runs",
        "rejected",
        "inconclusive",
        "not rejected",
        "divergences",
    ]
    schools = next(line for line in lines_of("wrong") if "schools" in line.name)
    runs = read_facts(place, schools)
    if not runs:
        return markdown_table(head, [])
    groups = {
        "R-hat above 1.05 or ESS below 100": [one for one in runs if poor(one)],
        "neither": [one for one in runs if not poor(one)],
    }
    return markdown_table(head, [[name, *school_counts(found)] for name, found in groups.items()])


def poor(facts: Row) -> bool:
    """Whether ArviZ's R-hat or ESS, of draws or of scores, is beyond the usual bounds."""
    high = max(float(facts[f"rhat_{of}"]) for of in ("draws", "scores")) > 1.05
    return high or min(float(facts[f"ess_{of}"]) for of in ("draws", "scores")) < 100.0


def school_counts(runs: Sequence[Row]) -> list[str]:
    """How many there are, the count of each verdict, and the median of the divergences."""
    verdicts = [
        str(sum(one["verdict"] == word for one in runs))
        for word in ("rejected", "inconclusive", "not rejected")
    ]
    median = f"{statistics.median(int(one['divergences']) for one in runs):.0f}" if runs else ""
    return [str(len(runs)), *verdicts, median]


TABLES = {
    "correct": correct,
    "wrong": wrong,
    "schools": schools,
    "independent": independent,
    "power": power,
    "axes": axes,
    "harder": harder,
}
assert set(TABLES) >= set(PARTS)


def on_page(text: str, place: Place) -> str:
    """The page with the tables as they are now, each between its marks.

    A table that has no line yet is not on the page.
    """
    tables = {name: lines(place) for name, lines in TABLES.items()}
    return _command.on_page(
        text, PAGE, {name: lines for name, lines in tables.items() if len(lines) > 2}
    )
