"""Pictures of draws beside the target: `view(axes, fault, shown, colours)`."""

from typing import NamedTuple

import numpy as np

#: Draws that stand for the target.
EXACT = 200_000
#: Shares of the target within its contours.
WITHIN = (0.95, 0.5)


class Colours(NamedTuple):
    """Of a theme of the site."""

    draws: str
    target: str
    text: str


COLOURS = {
    "light": Colours("#3f84c4", "#b3470b", "#323232"),
    "dark": Colours("#4f93d0", "#ffab70", "#ced6dd"),
}


def exact(fault):
    return fault.target.draws(np.random.default_rng(0), EXACT)


def density(axes, values, expected, colours, weights=None, bins=60):
    """Histograms of the draws, filled, and of the target, as a line."""
    if np.ndim(bins) == 0:
        both = np.concatenate([np.quantile(one, [0.001, 0.999]) for one in (values, expected)])
        bins = np.linspace(both.min(), both.max(), bins)
    smooth = np.linspace(bins[0], bins[-1], 60)
    axes.hist(values, bins, weights=weights, density=True, color=colours.draws, label="draws")
    height, edges = np.histogram(expected, smooth, density=True)
    middle = 0.5 * (edges[1:] + edges[:-1])
    axes.plot(middle, height, color=colours.target, linewidth=1.8, label="target")
    axes.set_yticks([])


def histogram(axes, fault, shown, colours, bins=60):
    """The first coordinate."""
    rows = shown.reshape(-1, shown.shape[-1])
    weights = np.exp(fault.log_weights(rows)) if fault.log_weights else None
    density(axes, rows[:, 0], exact(fault)[:, 0], colours, weights, bins)
    axes.set_xlabel("x[0]" if weights is None else "x[0], weighted")
    return "a histogram of the first coordinate, and the density of the target"


def products(axes, fault, shown, colours):
    """The product of all coordinates."""
    rows = shown.reshape(-1, shown.shape[-1])
    density(axes, rows.prod(1), exact(fault).prod(1), colours, bins=np.linspace(-2.0, 2.0, 60))
    axes.set_xlabel("x[0] x[1] x[2] x[3]")
    return "a histogram of the product of all coordinates, and that of the target"


def scatter(axes, fault, shown, colours):
    """The first two coordinates, and contours of the target around 50 and 95 % of it."""
    rows, expected = shown.reshape(-1, shown.shape[-1]), exact(fault)
    low, high = np.quantile(np.concatenate([rows, expected[: len(rows)]]), [0.001, 0.999], axis=0)
    margin = 0.05 * (high - low)
    axes.scatter(*rows.T, s=3, color=colours.draws, alpha=0.5, linewidths=0, label="draws")
    grid = np.meshgrid(*np.linspace(low - margin, high + margin, 200).T)
    height = fault.target.log_density(np.stack([one.ravel() for one in grid], axis=1))
    levels = np.quantile(fault.target.log_density(expected), 1.0 - np.array(WITHIN))
    axes.contour(
        *grid, height.reshape(grid[0].shape), levels, colors=colours.target, linestyles="solid"
    )
    axes.plot([], [], color=colours.target, label="target, 50 and 95 %")
    axes.set(xlim=(low[0] - margin[0], high[0] + margin[0]), xlabel="x[0]", ylabel="x[1]")
    axes.set_ylim(low[1] - margin[1], high[1] + margin[1])
    return "a scatter plot of two coordinates, and contours of the target"


def traces(axes, fault, shown, colours, most=None):
    """The first coordinate of every chain, side by side, and the central 95 % of the target."""
    bounds = np.quantile(exact(fault)[:, 0], [0.025, 0.975])
    rows = shown[:, :most, 0]
    length = rows.shape[1]
    for place, chain in enumerate(rows):
        start = 1.1 * length * place
        at = start + np.arange(length)
        axes.plot(at, chain, color=colours.draws, linewidth=0.8)
        axes.hlines(bounds, start, start + length, color=colours.target, linewidth=1.6)
    axes.plot([], [], color=colours.draws, label="draws")
    axes.plot([], [], color=colours.target, label="target, 95 %")
    middle = 1.1 * length * np.arange(len(rows)) + 0.5 * length
    axes.set_xticks(middle, [f"chain {place}" for place in range(len(rows))])
    axes.set_ylabel("x[0]")
    first = f"the first {most} draws of " if most else ""
    return f"traces of {first}four chains, and the central 95 % of the target"


def draw(path, fault, shown, theme):
    """Write a picture on a clear ground, and say what is on it."""
    from matplotlib.figure import Figure

    colours = COLOURS[theme]
    figure = Figure(figsize=(5.6, 2.6), layout="constrained")
    axes = figure.subplots()
    words = fault.view(axes, fault, shown, colours)
    axes.spines[["top", "right"]].set_visible(False)
    for part in axes.spines.values():
        part.set_color(colours.text)
    axes.tick_params(colors=colours.text)
    axes.xaxis.label.set_color(colours.text)
    axes.yaxis.label.set_color(colours.text)
    figure.legend(
        loc="outside upper right", ncols=2, frameon=False, labelcolor=colours.text, markerscale=4
    )
    figure.savefig(path, dpi=125, transparent=True)
    return words
