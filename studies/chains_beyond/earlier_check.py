"""An earlier `check` on one group of replicates: ``earlier_check.py SRC GROUP.npz``.

Imports nothing of this repository but the package in SRC. Prints a list of p-values and verdicts.
"""

import json
import sys
import warnings

import numpy as np


def main(source: str, path: str) -> None:
    sys.path.insert(0, source)
    import polystein as ps

    assert ps.__file__.startswith(source), ps.__file__
    group = np.load(path)
    rows = []
    for draws, scores, key in zip(group["draws"], group["scores"], group["keys"], strict=True):
        spawn_key = tuple(int(word) for word in key)
        rng = np.random.SeedSequence(int(group["seed"]), spawn_key=spawn_key)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = ps.check(draws, scores, iid=bool(group["iid"]), rng=rng)
        verdict = "rejected" if result.pvalue <= 0.05 else "not rejected"
        rows.append({"pvalue": result.pvalue, "verdict": verdict})
    print(json.dumps(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
