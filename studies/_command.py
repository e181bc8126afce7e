"""The command lines of the studies, and their tables on the pages."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from polystein.experiments.engine.store import write_text
from studies._sources import with_sources

Lines = Sequence[str]


def on_page(text: str, page: Path, tables: Mapping[str, Lines]) -> str:
    """The text of a page with the tables as they are now, each between its marks."""
    for name, lines in tables.items():
        start, end = f"<!-- table: {name} -->\n", f"<!-- end of table: {name} -->\n"
        if (text.count(start), text.count(end)) != (1, 1):
            raise ValueError(f"{page.name} must hold {start.strip()} and {end.strip()} once each")
        before, _, rest = text.partition(start)
        _, _, after = rest.partition(end)
        text = before + start + "\n".join(["", *lines, "", ""]) + end + after
    return text


def parts_of(*modules: ModuleType) -> dict[str, ModuleType]:
    """The parts of a study, in this order, by the names of their modules."""
    return {module.__name__.rpartition(".")[2]: module for module in modules}


def tables_of(parts: Mapping[str, ModuleType]) -> dict[str, Lines]:
    """The table of each part of a study that has a line yet."""
    return {name: module.markdown() for name, module in parts.items() if module.STUDY.stored()}


def run_parts(
    name: str,
    description: str | None,
    parts: Mapping[str, ModuleType],
    page: Path,
    tables: Mapping[str, Lines] | None = None,
) -> int:
    """The command of a study of several parts, which share a page with tables of no study."""
    parser = _parser(name, description)
    parser.add_argument("part", nargs="?", choices=[*parts, "all"], default="all")
    parser.add_argument("--anew", action="store_true", help="make lines that are there again")
    parser.add_argument("--page", action="store_true", help="put the tables on the page and stop")
    parser.add_argument("--minutes", action="store_true", help="say what is left to do and stop")
    options = parser.parse_args()
    chosen = {part: parts[part] for part in parts if options.part in (part, "all")}
    if options.page:
        every = {**(tables or {}), **tables_of(parts)}
        text = on_page(page.read_text(encoding="utf-8"), page, every)
        write_text(page, with_sources(text))
    elif options.markdown:
        print("\n\n".join("\n".join(lines) for lines in tables_of(chosen).values()))
    elif options.minutes:
        for part, module in chosen.items():
            minutes = module.STUDY.minutes(options.only, anew=options.anew)
            print(f"{part}: about {minutes:.1f} minutes of one core")
    else:
        for module in chosen.values():
            module.STUDY.run(options.only, options.jobs, anew=options.anew)
    return 0


def run_table(
    name: str,
    description: str | None,
    run: Callable[[str, int], None],
    markdown: Callable[[], Lines],
) -> int:
    """The command of a study of one table: `run` takes the text of --only and the processes."""
    options = _parser(name, description).parse_args()
    if options.markdown:
        print("\n".join(markdown()))
    else:
        run(options.only, options.jobs)
    return 0


def _parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """What every study is asked."""
    parser = argparse.ArgumentParser(prog=f"python -m studies.{name}", description=description)
    parser.add_argument("--only", metavar="TEXT", default="", help="only cells with this name")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--markdown", action="store_true", help="print the tables and stop")
    return parser


def ended(main: Callable[[], int]) -> None:
    """Run a command and leave with its code; what is stored is kept after Ctrl-C."""
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here", file=sys.stderr)
        sys.exit(130)
