"""One side of `--against`: runs cases as it is told, a JSON line in, a JSON line out.

``python -m benchmarks.worker SOURCE`` with SOURCE, where polystein has to come from, first
on PYTHONPATH.
"""

import json
import sys
import warnings
from functools import lru_cache
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from benchmarks.harness import Side


def answer(request: dict[str, Any], source: Path) -> dict[str, Any]:
    """What was measured, or why it could not be: nothing that a case does ends the worker."""
    try:
        require_origin(source)
        if "count" in request:
            return {"count": count(request["count"])}
        return timed(side(request["case"], request["quick"]), request["first"], request["calls"])
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def require_origin(source: Path) -> None:
    import polystein

    origin = Path(str(polystein.__file__)).resolve()
    if not origin.is_relative_to(source):
        raise RuntimeError(f"polystein was imported from {origin}, not from {source}")


@lru_cache(maxsize=1)
def side(name: str, quick: bool) -> Side:
    """A case with its draws; those of the case before are let go."""
    from benchmarks.cases import CASES

    return next(case for case in CASES if case.name == name).side(quick)


def timed(side: Side, first: int, calls: int) -> dict[str, float]:
    """Seconds of the wall and of this process's CPU, all its threads together, per call."""
    cpu, wall = process_time(), perf_counter()
    for seed in range(first, first + calls):
        side(seed)
    wall, cpu = perf_counter() - wall, process_time() - cpu
    return {"wall": wall / calls, "cpu": cpu / calls}


def count(name: str) -> str:
    from benchmarks.reads import COUNTS

    return str(COUNTS[name]())


def main(source: str) -> None:
    # The answers have standard output to themselves, whatever a case prints.
    answers, sys.stdout = sys.stdout, sys.stderr
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        reply = answer(json.loads(line), Path(source).resolve())
        print(json.dumps(reply), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
