"""The one command: ``python -m benchmarks [--only NAME] [--quick] [--threads N] [--against REV]``.

With ``--against`` the working tree is measured against another commit instead.
"""

import argparse
import os
import sys


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", metavar="NAME", help="only the cases whose name begins with NAME")
    parser.add_argument("--quick", action="store_true", help="3 pairs; a tenth of a million rows")
    parser.add_argument(
        "--threads", type=thread_count, default=1, metavar="N",
        help="threads of BLAS (1 by default); 'default' leaves them to BLAS",
    )  # fmt: skip
    parser.add_argument(
        "--against", metavar="REV", help="measure the working tree against this commit"
    )
    parser.add_argument("--list", action="store_true", help="name the cases and stop")
    return parser.parse_args()


def thread_count(text: str) -> int | None:
    return None if text == "default" else int(text)


def fix_threads(threads: int | None) -> None:
    """BLAS reads these once, when NumPy is imported: nothing may import NumPy before."""
    if threads is None:
        return
    if "numpy" in sys.modules:
        raise RuntimeError("NumPy was imported before its threads were fixed")
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)


def main() -> int:
    options = arguments()
    fix_threads(options.threads)
    if options.against:
        from benchmarks import before_after

        return before_after.main(options)

    from benchmarks import (
        chains,
        check,
        core,
        effects,
        harness,
        reads,
        rivals,
        scale,
    )

    modules = (core, chains, check, effects, reads, rivals, scale)
    every = [case for module in modules for case in module.CASES]
    cases = [case for case in every if case.name.startswith(options.only or "")]
    if not cases:
        print(f"no case begins with {options.only!r}; see --list", file=sys.stderr)
        return 2
    if options.list:
        print("\n".join(case.name for case in cases))
        return 0
    harness.report(cases, quick=options.quick, threads=options.threads)
    return 0


if __name__ == "__main__":
    sys.exit(main())
