"""Fuzz for as long as one likes: ``python -m tests.fuzz --calls 20000 --seed 1``."""

from __future__ import annotations

import argparse
import faulthandler
import sys
import time
from collections import Counter

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.calls import ENTRIES, Call, calls
from tests.fuzz.judge import comparable, judge

#: Hypothesis remembers what it has tried; a new seed after this many calls keeps it small.
CALLS_AT_ONCE = 1000
#: Seconds after which a call that uses no processor time is shown and given up.
STUCK = 300.0


class Record:
    """Counts of outcomes, and the first call for each fault, shown when it is found."""

    def __init__(self, shown: bool) -> None:
        self.shown = shown
        self.kinds: Counter[str] = Counter()
        self.silent = set(ENTRIES)
        self.faults: Counter[str] = Counter()
        self.examples: dict[str, tuple[str, str]] = {}
        self.compared = 0
        self.slowest = (0.0, "")

    def add(self, call: Call) -> None:
        """Judge a call and keep what came of it."""
        faulthandler.dump_traceback_later(STUCK, exit=True)
        start = time.process_time()
        outcome = judge(call)
        faulthandler.cancel_dump_traceback_later()
        self.slowest = max(self.slowest, (time.process_time() - start, str(call)))
        self.compared += comparable(call)
        self.kinds[outcome.kind] += 1
        if outcome.kind == "answer":
            self.silent.discard(call.entry)
        for fault in outcome.faults:
            # The same kind of fault at the same line is one fault.
            words, at, line = fault.partition(", at ")
            key = words.partition(":")[0] + (line if at else call.function)
            self.faults[key] += 1
            if key not in self.examples:
                self.examples[key] = (fault, str(call))
                if self.shown:
                    print(f"{fault}\n    {call}\n", flush=True)

    def show(self, seconds: float) -> None:
        """Print the counts."""
        total = self.kinds.total()
        print(f"{total} calls of {len(ENTRIES)} functions in {seconds:.0f} s")
        print(f"{self.compared} of them were compared with plain arrays")
        print(f"the slowest took {self.slowest[0]:.1f} s of processor time: {self.slowest[1]}")
        for kind, count in self.kinds.most_common():
            print(f"{count:8} {kind}")
        print(f"never answered: {', '.join(sorted(self.silent)) or 'none'}")
        print(f"{self.faults.total()} faults, {len(self.faults)} different ones")
        for key, count in self.faults.most_common():
            print(f"{count:8} {self.examples[key][0]}")


def fuzz(number: int, first_seed: int, only: str | None = None, *, shown: bool = False) -> Record:
    """Judge this many calls, the same ones for the same seed."""
    record = Record(shown)
    strategy = calls if only is None else ENTRIES[only]
    for step in range(-(-number // CALLS_AT_ONCE)):
        size = min(CALLS_AT_ONCE, number - step * CALLS_AT_ONCE)

        @seed(first_seed * 1_000_003 + step)
        @settings(
            max_examples=size,
            database=None,
            deadline=None,
            derandomize=False,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(strategy)
        def run(call: Call) -> None:
            record.add(call)

        run()
    return record


def main() -> int:
    """Fuzz as the command line says; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--calls", type=int, default=2000, help="number of calls")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same calls")
    parser.add_argument("--only", choices=sorted(ENTRIES), help="one function alone")
    given_ = parser.parse_args()
    start = time.monotonic()
    record = fuzz(given_.calls, given_.seed, given_.only, shown=True)
    record.show(time.monotonic() - start)
    return 1 if record.faults else 0


if __name__ == "__main__":
    sys.exit(main())
