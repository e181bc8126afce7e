"""R-hat and effective sample sizes by loops over one column, after Vehtari et al. (2021).

The conventions where the paper leaves a choice (the offset of ranks, the last pair of
autocorrelations, constant columns) are those of ArviZ.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean, median, variance

from tests.reference.memory import joined

Chains = Sequence[Sequence[float]]


def halves(chains: Chains) -> list[list[float]]:
    """First and last half of every chain, without the draw in the middle of an odd number."""
    parts = []
    for chain in chains:
        half = len(chain) // 2
        parts += [list(chain[:half]), list(chain[len(chain) - half :])]
    return parts


def ranks(chains: Chains) -> list[list[float]]:
    """Average rank of every number among all: those below it, and half of its equals."""
    every = [value for chain in chains for value in chain]

    def rank(value: float) -> float:
        below = sum(other < value for other in every)
        equal = sum(other == value for other in every)
        return below + (equal + 1) / 2

    return [[rank(value) for value in chain] for chain in chains]


def normal_scores(chains: Chains) -> list[list[float]]:
    """Phi^-1((r - 3/8)/(S + 1/4)) of the ranks r among S numbers."""
    total = sum(len(chain) for chain in chains)
    normal = NormalDist()
    return [
        [normal.inv_cdf((rank - 0.375) / (total + 0.25)) for rank in chain]
        for chain in ranks(chains)
    ]


def rhat(chains: Chains) -> float:
    """sqrt(var+ / W): NaN for 0/0, infinite if only the means differ."""
    draws = len(chains[0])
    between = draws * variance([fmean(chain) for chain in chains])
    within = fmean([variance(chain) for chain in chains])
    if within == 0.0:
        return math.nan if between == 0.0 else math.inf
    return math.sqrt((between / within + draws - 1) / draws)


def rank_rhat(chains: Chains) -> float:
    """The larger of bulk and folded split R-hat."""
    split = halves(chains)
    middle = median([value for chain in split for value in chain])
    folded = [[abs(value - middle) for value in chain] for chain in split]
    bulk, tail = rhat(normal_scores(split)), rhat(normal_scores(folded))
    return tail if tail > bulk else bulk


def autocovariance(chain: Sequence[float], lag: int) -> float:
    mean = fmean(chain)
    products = [(chain[t] - mean) * (chain[t + lag] - mean) for t in range(len(chain) - lag)]
    return math.fsum(products) / len(chain)


def ess(chains: Chains) -> float:
    """S/tau, with tau from Geyer's initial positive and monotone sequence of pairs."""
    draws, total = len(chains[0]), sum(len(chain) for chain in chains)
    every = [value for chain in chains for value in chain]
    if max(every) - min(every) < 1e-15:
        return float(total)
    gamma = [fmean([autocovariance(chain, lag) for chain in chains]) for lag in range(draws)]
    within = gamma[0] * draws / (draws - 1)
    overall = gamma[0]
    if len(chains) > 1:
        overall += variance([fmean(chain) for chain in chains])
    rho = [1.0] + [1.0 - (within - gamma[lag]) / overall for lag in range(1, draws)]
    pair, smallest, tau = 0, math.inf, -1.0
    while rho[2 * pair] + rho[2 * pair + 1] > 0.0 and 2 * pair + 1 < draws - 3:
        smallest = min(smallest, rho[2 * pair] + rho[2 * pair + 1])
        tau += 2.0 * smallest
        pair += 1
    even, odd = rho[2 * pair], rho[2 * pair + 1]
    if even > 0.0 or even + odd >= 0.0:
        tau += even
    return total / max(tau, 1.0 / math.log10(total))


def ess_bulk(chains: Chains) -> float:
    return ess(normal_scores(halves(chains)))


def ess_folded(chains: Chains) -> float:
    """The ESS of normal scores of distances from the median."""
    split = halves(chains)
    middle = median([value for chain in split for value in chain])
    return ess(normal_scores([[abs(value - middle) for value in chain] for chain in split]))


def ess_tail(chains: Chains) -> float:
    """The smaller ESS of the indicators of the 5 % and 95 % quantiles (R's type 7)."""
    every = sorted(value for chain in chains for value in chain)
    sizes = []
    for probability in (0.05, 0.95):
        place = (len(every) - 1) * probability
        low = min(int(place), len(every) - 2)
        share = place - low
        quantile = (1.0 - share) * every[low] + share * every[low + 1]
        sizes.append(
            ess(halves([[float(value <= quantile) for value in chain] for chain in chains]))
        )
    return min(sizes)


def ess_of_means(
    sums: Sequence[Sequence[float]],
    rows: Sequence[float],
    chains: Sequence[int],
    variances: Sequence[float],
) -> list[float]:
    """n s^2/V of every column, by sums over batches; V is at least s^2.

    V is the largest variance of batch means times their length, of batches joined one, two, four
    ... at a time while sixteen are left, and of whole chains if there are eight. Where the last is
    r > 1 times the one before on average, it is larger still, by exp(2 (min(r, 2) - 1))/r.

    Where the ESS is 400 or more, V is that of the batches as they are instead. A longer one takes
    its place if it is larger by four standard errors, sqrt(2/m) for m batches. The mean growth of
    all columns counts where it is larger than 1 by two.
    """
    total, columns = math.fsum(rows), range(len(variances))
    means = [math.fsum(row[j] for row in sums) / total for j in columns]
    whole = len(set(chains))
    groupings, together = [joined(chains, 1)], 2
    while len(groupings[-1]) > whole and len(joined(chains, together)) >= 16:
        groupings.append(joined(chains, together))
        together *= 2
    if len(groupings[-1]) > whole >= 8:
        groupings.append(joined(chains, len(chains)))
    curves = [[_variance(sums, rows, means, groups, j) for j in columns] for groups in groupings]
    beyond = 1.0
    if len(curves) > 1:
        varying = [j for j in columns if curves[-2][j] > 0.0]
        growth = fmean([curves[-1][j] / curves[-2][j] for j in varying]) if varying else 1.0
        if growth > 1.0:
            beyond = max(1.0, math.exp(2.0 * (min(growth, 2.0) - 1.0)) / growth)
    longrun = [beyond * max(curve[j] for curve in curves) for j in columns]
    cautious = [total * variances[j] / max(longrun[j], variances[j]) for j in columns]
    growth, errors = 1.0, [math.sqrt(2.0 / len(groups)) for groups in groupings]
    for curve, error in zip(curves[1:], errors[1:], strict=True):
        mean = fmean([curve[j] / curves[0][j] if curves[0][j] > 0.0 else 1.0 for j in columns])
        if mean > 1.0 + 2.0 * error / math.sqrt(len(variances)):
            growth = max(growth, mean)
    sizes = []
    for j in columns:
        clear = curves[0][j]
        for curve, error in zip(curves[1:], errors[1:], strict=True):
            clear = curve[j] if curve[j] > (1.0 + 4.0 * error) * clear else clear
        clear = max(clear, growth * curves[0][j], variances[j])
        large = max(400.0, total * variances[j] / clear) if clear > 0.0 else math.nan
        sizes.append(cautious[j] if cautious[j] < 400.0 else large)
    return sizes


def _variance(
    sums: Sequence[Sequence[float]],
    rows: Sequence[float],
    means: Sequence[float],
    groups: Sequence[Sequence[int]],
    column: int,
) -> float:
    """Mean over the groups of (sum - rows mean)^2/rows, with their number less one below."""
    squares = []
    for group in groups:
        size = math.fsum(rows[k] for k in group)
        off = math.fsum(sums[k][column] for k in group) - size * means[column]
        squares.append(off**2 / size)
    return math.fsum(squares) / max(1, len(groups) - 1)
