"""Draw the pictures of docs/learn/: `python docs/images/learn.py` writes them beside itself."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).parent
BLUE, ORANGE, GREY = "#0b6fa4", "#c2570c", "#555555"


def stein_identity() -> plt.Figure:
    """The integrand of Stein's identity for h(x) = x, under the target and a wider sampler."""
    x = np.linspace(-5.2, 5.2, 400)
    feature = 1.0 - x**2  # s(x) h(x) + h'(x) with s(x) = -x and h(x) = x
    figure, axes = plt.subplots(1, 3, figsize=(9.6, 3.0), layout="constrained")
    axes[0].plot(x, -x, color=BLUE)
    axes[0].set_title("the score of N(0, 1): s(x) = −x")
    for panel, sd, colour, words in (
        (axes[1], 1.0, BLUE, "draws from N(0, 1)"),
        (axes[2], 1.4, ORANGE, "draws from N(0, 1.4²)"),
    ):
        density = np.exp(-0.5 * (x / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
        product = feature * density
        panel.plot(
            x, density, color=GREY, linestyle="--", linewidth=1, label="density of the draws"
        )
        panel.plot(x, product, color=colour, label="(1 − x²) × density")
        panel.fill_between(x, product, where=product > 0, color=colour, alpha=0.35, linewidth=0)
        panel.fill_between(x, product, where=product < 0, color=colour, alpha=0.15, linewidth=0)
        panel.set_title(f"{words}: mean {1 - sd**2:.2f}".replace("-", "−"))
        panel.set_ylim(-0.62, 0.48)
        panel.legend(loc="lower center", fontsize=8, frameon=False)
    for panel in axes:
        panel.axhline(0.0, color=GREY, linewidth=0.6)
        panel.set_xlabel("x")
        panel.title.set_fontsize(10)
        panel.spines[["top", "right"]].set_visible(False)
    return figure


def pictures() -> dict[str, plt.Figure]:
    """Each picture by the name of its file."""
    return {"stein_identity": stein_identity()}


if __name__ == "__main__":
    for name, figure in pictures().items():
        figure.savefig(HERE / f"{name}.png", dpi=100)
        print(HERE / f"{name}.png")
