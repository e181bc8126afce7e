"""Judge every exhibit of the museum with several seeds: ``python -m examples.museum``.

Writes ``examples/museum/table.csv``, with the commit of the code, and with ``--picture`` the
picture of ``docs/museum.md``, too. ``--short`` judges one exhibit of each kind with one seed, in
seconds, and writes nothing. ``--markdown`` prints the table of ``docs/museum.md`` and stops.
"""

import argparse
import csv
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import polystein as ps
from examples.museum.exhibits import CORRECT, EXHIBITS, Exhibit
from polystein.experiments.engine.store import package_commit

SEEDS, BUDGET = (1, 2, 3, 4, 5), 100_000
#: Transitions before a draw of the gate, and chains and length of what `check` sees.
STEPS, CHAINS, LENGTH = 20, 4, 1000
SHORT = ("no Jacobian", "momentum kept", "minibatch scores")
TABLE = Path(__file__).with_name("table.csv")
PICTURE = Path(__file__).parents[2] / "docs" / "images" / "museum.png"


def gate(exhibit: Exhibit, seed: int) -> ps.testing.SamplerTest:
    """The answer of `assert_draws_from`, for the last draws of many short chains."""

    def sampler(own, n):
        return exhibit.run(exhibit.target, np.random.default_rng(own), n, STEPS)[:, -1]

    try:
        return ps.testing.assert_draws_from(
            sampler, exhibit.target.score, detect=exhibit.size, budget=BUDGET, n=100, rng=seed
        )
    except (ps.FaultError, ps.UndecidedError) as error:
        return error.result


def checked(exhibit: Exhibit, seed: int) -> ps.GofResult:
    """The answer of `check`, for a few long chains."""
    draws = exhibit.run(exhibit.target, np.random.default_rng(seed), CHAINS, LENGTH)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ps.PolysteinWarning)
        return ps.check(draws, exhibit.target.score)


def judge(exhibit: Exhibit, seeds: Sequence[int] = SEEDS) -> dict[str, object]:
    """A line of the table."""
    results, seconds = [], []
    for seed in seeds:
        started = time.perf_counter()
        results.append(gate(exhibit, seed))
        seconds.append(time.perf_counter() - started)
    checks = [checked(exhibit, seed) for seed in seeds]
    caught = [result for result in results if result.outcome == "failed"]
    missed = [result.needed for result in results if result.outcome != "failed"]
    found = [str(result.effects[0]).split(", standard")[0] for result in caught]
    return {
        "exhibit": exhibit.name,
        "seeds": len(seeds),
        "detect_mean": exhibit.size[0],
        "detect_sd": exhibit.size[1],
        "rhat": f"{np.median([np.max(one.diagnostics.draws.rhat) for one in checks]):.3f}",
        "ess": f"{np.median([np.min(one.diagnostics.draws.ess_bulk) for one in checks]):.0f}",
        "check": sum(one.verdict == "rejected" for one in checks),
        "gate": len(caught),
        "found": found[0] if found else "",
        "draws": int(np.median([result.draws for result in results])),
        "needed": int(np.median(missed)) if missed else "",
        "seconds": f"{max(seconds):.0f}",
    }


def markdown(rows) -> list[str]:
    """The table of ``docs/museum.md``, line by line."""
    lines = [
        "| exhibit | asked to notice | R-hat | ESS | `check` | `assert_draws_from` | found first "
        "| draws |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        asked = f"{float(row['detect_mean']):g} sd, {100.0 * float(row['detect_sd']):g} %"
        found = row["found"]
        if row["needed"]:
            missed = f"undecided, needs {int(row['needed']):,} draws"
            found = f"{found}; else {missed}" if found else missed
        shares = [f"{row[one]} of {row['seeds']}" for one in ("check", "gate")]
        cells = [row["exhibit"], asked, row["rhat"], row["ess"], *shares, found]
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
        rng = np.random.default_rng(SEEDS[0])
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
    parser.add_argument("--markdown", action="store_true", help="print the table and stop")
    options = parser.parse_args()
    if options.markdown:
        with TABLE.open(newline="", encoding="utf-8") as file:
            print(*markdown(csv.DictReader(file)), sep="\n")
        return
    # Asked for at once, as the files may change under way.
    rows, commit = [], package_commit() or "unknown"
    seeds = SEEDS[:1] if options.short else SEEDS
    for exhibit in EXHIBITS:
        if not options.short or exhibit.name in SHORT:
            rows.append({**judge(exhibit, seeds), "commit": commit})
            print(*rows[-1].values(), sep="  ", flush=True)
    for exhibit in CORRECT[1:2] if options.short else CORRECT:
        for seed in seeds:
            result = gate(exhibit._replace(size=(0.1, 0.05)), seed)
            words = f"{exhibit.name} (correct): {result.outcome}, p = {result.pvalue:.2g}"
            print(words, flush=True)
            if result.outcome == "failed":
                raise SystemExit(f"{exhibit.name} is correct, and failed: {result.settings}")
    if options.short:
        if missed := [row["exhibit"] for row in rows if row["gate"] < 1]:
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
