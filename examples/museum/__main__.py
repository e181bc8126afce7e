"""Judge every exhibit of the museum: ``python -m examples.museum``.

Writes ``examples/museum/table.csv``, with the commit of the code, and with ``--picture`` the
picture of ``docs/museum.md``, too. ``--short`` judges one exhibit of each kind in seconds, and
writes nothing.
"""

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np

import polystein as ps
from examples.museum.exhibits import CORRECT, EXHIBITS, Exhibit
from polystein.experiments.engine.store import package_commit

SEED, BUDGET = 1, 100_000
#: Transitions before a draw of the gate, and chains and length of what `check` sees.
STEPS, CHAINS, LENGTH = 20, 4, 1000
SHORT = ("no Jacobian", "momentum kept", "minibatch scores")
TABLE = Path(__file__).with_name("table.csv")
PICTURE = Path(__file__).parents[2] / "docs" / "images" / "museum.png"


def gate(exhibit: Exhibit) -> ps.testing.SamplerTest:
    """The answer of `assert_draws_from`, for the last draws of many short chains."""

    def sampler(seed, n):
        return exhibit.run(exhibit.target, np.random.default_rng(seed), n, STEPS)[:, -1]

    try:
        return ps.testing.assert_draws_from(
            sampler, exhibit.target.score, detect=exhibit.size, budget=BUDGET, n=100, rng=SEED
        )
    except (ps.FaultError, ps.UndecidedError) as error:
        return error.result


def judge(exhibit: Exhibit) -> dict[str, object]:
    """A line of the table."""
    started = time.perf_counter()
    result = gate(exhibit)
    caught = result.outcome == "failed"
    draws = exhibit.run(exhibit.target, np.random.default_rng(SEED), CHAINS, LENGTH)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ps.PolysteinWarning)
        checked = ps.check(draws, exhibit.target.score)
    diagnostics = checked.diagnostics
    return {
        "exhibit": exhibit.name,
        "seed": SEED,
        "rhat": f"{np.max(diagnostics.draws.rhat):.3f}",
        "ess": f"{np.min(diagnostics.draws.ess_bulk):.0f}",
        "check": f"{checked.verdict} (p = {checked.pvalue:.2g})",
        "gate": result.outcome,
        "found": str(result.effects[0]).split(", standard")[0] if result.effects else "",
        "draws": result.draws,
        "needed": result.draws if caught else result.needed,
        "seconds": f"{time.perf_counter() - started:.0f}",
    }


def markdown(rows) -> list[str]:
    """The table of ``docs/museum.md``, line by line."""
    lines = [
        "| exhibit | R-hat | ESS | `check` | `assert_draws_from` | draws |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        found = row["found"] or f"undecided, needs {int(row['needed']):,} draws"
        cells = [row["exhibit"], row["rhat"], row["ess"], row["check"], found]
        lines.append(f"| {' | '.join(map(str, cells))} | {int(row['draws']):,} |")
    return lines


def picture(path: Path) -> None:
    """Histograms of the first coordinate beside those of exact draws."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 8.0), layout="constrained")
    axes = figure.subplots(5, 4)
    for axis in axes.flat[len(EXHIBITS) :]:
        axis.set_axis_off()
    for axis, exhibit in zip(axes.flat, EXHIBITS, strict=False):
        rng = np.random.default_rng(SEED)
        exact = exhibit.target.draws(rng, 20_000)[:, 0]
        wrong = exhibit.run(exhibit.target, rng, 20_000, STEPS)[:, -1, 0]
        bins = np.linspace(*np.quantile(exact, [0.001, 0.999]), 40)
        axis.hist(wrong, bins, density=True, color="#b8cbe0")
        axis.hist(exact, bins, density=True, histtype="step", color="black", linewidth=0.8)
        axis.set_title(exhibit.name, fontsize=9)
        axis.set_yticks([])
        axis.tick_params(labelsize=7)
    figure.savefig(path, dpi=72)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m examples.museum", description=__doc__)
    parser.add_argument("--short", action="store_true", help="one exhibit of each kind, in seconds")
    parser.add_argument("--picture", action="store_true", help="draw the picture as well")
    options = parser.parse_args()
    # Asked for at once, as the files may change under way.
    rows, commit = [], package_commit() or "unknown"
    for exhibit in EXHIBITS:
        if not options.short or exhibit.name in SHORT:
            rows.append({**judge(exhibit), "commit": commit})
            print(*rows[-1].values(), sep="  ", flush=True)
    for exhibit in CORRECT[1:2] if options.short else CORRECT:
        result = gate(exhibit._replace(size=(0.1, 0.05)))
        print(f"{exhibit.name} (correct): {result.outcome}, p = {result.pvalue:.2g}", flush=True)
        if result.outcome == "failed":
            raise SystemExit(f"{exhibit.name} is correct, and failed")
    if options.short:
        if missed := [row["exhibit"] for row in rows if row["gate"] != "failed"]:
            raise SystemExit(f"not caught: {missed}")
        return
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    if options.picture:
        picture(PICTURE)


if __name__ == "__main__":
    main()
