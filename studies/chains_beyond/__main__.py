"""The one command: ``python -m studies.chains_beyond`` from the root of the repository.

Runs the lines that are asked for, all of them by default, and puts each into the table of its part.
It may be stopped at any time and goes on in the middle of a line, as long as the code is the same;
a second run gives the same tables, with any number of processes. Lines of NUTS need JAX, BlackJAX
and ArviZ: leave them out with --without-jax.

``--earlier SRC --lines "AR(0.9), mean" "AR(0.9), all" --parts power`` runs the `check` of an
earlier commit, checked out elsewhere, on the same draws.
"""

import argparse
import time
from pathlib import Path

from polystein.experiments.engine.cells import Replicate
from polystein.experiments.engine.store import write_text
from studies._command import ended
from studies.chains_beyond import GROUP, PARTS, tables, true_ess
from studies.chains_beyond.lines import Line
from studies.chains_beyond.records import record
from studies.chains_beyond.runs import Place, chosen, run


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m studies.chains_beyond", description=__doc__)
    add = parser.add_argument
    add("--lines", nargs="*", default=[], metavar="NAME", help="lines with one of these texts")
    add("--parts", nargs="*", default=PARTS, choices=PARTS, help="parts (default: all)")
    add("--replicates", type=int, help="so many of each line instead of its own number")
    add("--jobs", type=int, default=2, help="processes (default 2)")
    add("--out", type=Path, help="folder for tables and records (default: beside the code)")
    add("--without-jax", action="store_true", help="leave out the lines that need JAX")
    add("--earlier", metavar="SRC", help="the src folder of an earlier commit")
    add("--list", action="store_true", help="print the names and stop")
    add("--time", type=int, metavar="N", help="time N replicates of each line, and store nothing")
    add("--true-ess", action="store_true", help="measure the true effective draws and stop")
    add("--markdown", action="store_true", help="print the tables and stop")
    add("--page", action="store_true", help="put the tables on the page and stop")
    return parser.parse_args()


def timed(line: Line, replicates: int) -> None:
    """Milliseconds a replicate of drawing a second group, and of `check`."""
    cell = line.cell(line.replicates)
    line.draw(Replicate(cell, 0, 0).generator("draws"), GROUP)
    started = time.perf_counter()
    drawn = line.draw(Replicate(cell, 1, 0).generator("draws"), GROUP)
    drawing = (time.perf_counter() - started) / GROUP
    started = time.perf_counter()
    verdicts = [
        str(record(draws, scores, Replicate(cell, 1, 0).stream("check"), line.iid, {})["verdict"])
        for draws, scores in zip(drawn.draws[:replicates], drawn.scores[:replicates], strict=True)
    ]
    checking = (time.perf_counter() - started) / len(verdicts)
    found = ", ".join(f"{verdicts.count(word)} {word}" for word in dict.fromkeys(verdicts))
    print(f"{1e3 * drawing:8.1f}  {1e3 * checking:8.1f}  {line.name}: {found}", flush=True)


def main() -> int:
    options = arguments()
    lines = chosen(options.lines, options.parts, not options.without_jax)
    place = Place(earlier=options.earlier)
    if options.out is not None:
        place = Place(options.out, options.out / "records", options.earlier)
    if options.list:
        print("\n".join(line.name for line in lines))
    elif options.time:
        print("   drawing     check  (ms a replicate)")
        for line in lines:
            timed(line, options.time)
    elif options.true_ess:
        true_ess.write([line for line in lines if line.part == "correct"])
    elif options.markdown:
        print("\n\n".join("\n".join(one(place)) for one in tables.TABLES.values()))
    elif options.page:
        text = tables.PAGE.read_text(encoding="utf-8")
        write_text(tables.PAGE, tables.on_page(text, place))
    else:
        run(lines, place, options.replicates, options.jobs)
    return 0


if __name__ == "__main__":
    ended(main)
