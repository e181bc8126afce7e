"""Compare with the stored results, show what changed, and renew them."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.golden.calls import Call, Input, Record, differences, digests, load, record, save


def compare(
    cases: Mapping[str, Call],
    inputs: Mapping[str, Input],
    arrays: Mapping[str, tuple[NDArray[np.float64], ...]],
    path: Path,
    arguments: Sequence[str],
) -> int:
    """Run the cases, print what differs, and store it if `arguments` say so; return the exit code.

    Records that do not differ are stored as they were, so that renewing changes nothing else.
    """
    parser = argparse.ArgumentParser(description="Compare with the golden results.")
    parser.add_argument("words", nargs="*", help="only cases whose names contain one of these")
    parser.add_argument("--renew", action="store_true", help="store what differs")
    options = parser.parse_args(arguments)
    stored = load(path) if path.exists() else {"inputs": {}, "cases": {}}
    records: dict[str, Record] = {}
    changed, fields = 0, 0
    for name, call in cases.items():
        old = stored["cases"].get(name)
        if options.words and not any(word in name for word in options.words):
            records |= {} if old is None else {name: old}
            continue
        new = record(call, inputs)
        found = ["a new case"] if old is None else list(differences(name, old, new))
        records[name] = new if found else old
        changed, fields = changed + bool(found), fields + len(found)
        _show(name, found)
    gone = [name for name in stored["cases"] if name not in cases]
    for name in gone:
        _show(name, ["no longer a case"])
    made = digests(arrays)
    moved = list(differences("inputs", stored["inputs"], made))
    _show("inputs", moved)
    if options.renew:
        save(path, {"inputs": made, "cases": records})
    done = "renewed" if options.renew else "differ"
    print(f"{changed + len(gone)} of {len(cases)} cases {done}, in {fields} fields")
    return 0 if options.renew or not (changed or gone or moved) else 1


def _show(name: str, found: Sequence[str]) -> None:
    if found:
        print(name, *(f"    {line}" for line in found), sep="\n")
        sys.stdout.flush()
