"""Draw the pictures of docs/plots.md: `python docs/images/plots.py` writes them beside itself."""

from pathlib import Path

import numpy as np

import polystein as ps

HERE = Path(__file__).parent


def chains(correct: bool, d: int = 6) -> ps.Sample:
    """Four autocorrelated chains of N(0, I); the wrong ones have a mean, an sd and a pair off."""
    rng = np.random.default_rng(3)
    draws = rng.standard_normal((4, 2000, d))
    for row in range(1, 2000):
        draws[:, row] = 0.5 * draws[:, row - 1] + 0.75**0.5 * draws[:, row]
    if not correct:
        draws[..., 0] += 0.2
        draws[..., 1] *= 1.25
        draws[..., 3] = 0.95 * draws[..., 3] + 0.3 * draws[..., 4]
    names = ["mu", "tau_log__", *(f"theta[{place}]" for place in range(d - 2))]
    return ps.Sample(draws, -draws, names=names)


def compared(wrong: ps.Sample, right: ps.Sample) -> ps.SamplerComparison:
    """The chains beside shorter ones and narrower ones."""
    draws, off = np.asarray(right.draws), np.asarray(wrong.draws)
    sets = {"NUTS": draws, "NUTS, short": draws[:, :250], "ADVI": 0.9 * draws, "ULA, step 0.1": off}
    return ps.compare({name: (rows, -rows) for name, rows in sets.items()})


def pictures() -> dict[str, object]:
    """Each picture by the name of its file."""
    wrong, right = chains(correct=False), chains(correct=True)
    result = ps.check(wrong, tolerance=0.1, rng=1)
    stuck = np.array(right.draws)
    stuck[2, 700:] = stuck[2, 700]
    rows = np.asarray(wrong.draws).reshape(-1, 6)[::5]
    return {
        "effects": ps.plot_effects(result, most=10),
        "evidence": ps.check(right, rng=1).plot(),
        "moments": ps.plot_moments(wrong),
        "chains": ps.plot_chains(stuck, -stuck),
        "compare": compared(wrong, right).plot(),
        "weights": ps.lambda_psd_test(rows, -rows, order=3, rng=1).plot(),
    }


if __name__ == "__main__":
    for name, axes in pictures().items():
        axes.figure.savefig(HERE / f"{name}.png", dpi=90)  # type: ignore[attr-defined]
        print(HERE / f"{name}.png")
