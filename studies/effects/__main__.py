"""The one command: ``python -m studies.effects`` from the root of the repository.

Runs the cells that the tables beside this file do not hold yet. It may be stopped at any time and
goes on in the middle of a cell, as long as the code is the same; a second run gives the same
tables, with any number of processes. Lines that are there stay as they are: remove them, or say
--anew, after a change of the code. One line of the corrected expectations needs JAX and BlackJAX.
"""

import argparse
import sys
from pathlib import Path

from polystein.experiments.engine.store import write_text
from studies.effects import corrected, planted, tolerance

PARTS = {"planted": planted, "tolerance": tolerance, "corrected": corrected}
PAGE = Path(__file__).parents[2] / "docs" / "effects.md"


def on_page(text: str) -> str:
    """The page with the tables as they are now, each between its marks."""
    for part, module in PARTS.items():
        start, end = f"<!-- table: {part} -->\n", f"<!-- end of table: {part} -->\n"
        if (text.count(start), text.count(end)) != (1, 1):
            raise ValueError(f"{PAGE.name} must hold {start.strip()} and {end.strip()} once each")
        before, _, rest = text.partition(start)
        _, _, after = rest.partition(end)
        table = "\n".join(["", *module.markdown(), "", ""])
        text = before + start + table + end + after
    return text


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m studies.effects", description=__doc__)
    parser.add_argument("part", nargs="?", choices=[*PARTS, "all"], default="all")
    parser.add_argument("--only", metavar="TEXT", default="", help="only cells with this name")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--anew", action="store_true", help="make lines that are there again")
    parser.add_argument("--markdown", action="store_true", help="print the tables and stop")
    parser.add_argument("--page", action="store_true", help="put the tables on the page and stop")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    chosen = [module for part, module in PARTS.items() if options.part in (part, "all")]
    if options.page:
        write_text(PAGE, on_page(PAGE.read_text(encoding="utf-8")))
    elif options.markdown:
        print("\n\n".join("\n".join(module.markdown()) for module in chosen))
    else:
        for module in chosen:
            module.STUDY.run(options.only, options.jobs, anew=options.anew)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here", file=sys.stderr)
        sys.exit(130)
