"""Samplers with one line wrong. All chains of a run are moved at once: x has the shape (n, d)."""

import numpy as np


def accept(rng, ratio, moved, x):
    """Metropolis: the moved rows where the chance exp(ratio) comes up, the old ones elsewhere."""
    return np.where((np.log(rng.random(len(x))) < ratio)[:, None], moved, x)


def mala(target, x, rng, step=0.8, hastings=True, sign=1.0):
    """Langevin proposals; wrong without the Hastings term, or with another sign in the proposal."""
    mean = x + sign * 0.5 * step**2 * target.score(x)
    moved = mean + step * rng.standard_normal(x.shape)
    ratio = target.log_density(moved) - target.log_density(x)
    if hastings:
        there = ((moved - x - 0.5 * step**2 * target.score(x)) ** 2).sum(1)
        back = ((x - moved - 0.5 * step**2 * target.score(moved)) ** 2).sum(1)
        ratio = ratio + 0.5 * (there - back) / step**2
    return accept(rng, ratio, moved, x)


def hmc(target, x, rng, momentum=None, step=0.5, steps=3, last_half=0.5):
    """Hamiltonian Monte Carlo; wrong with a whole kick at the end, or a momentum that is kept."""
    p = rng.standard_normal(x.shape) if momentum is None else momentum
    q, r = x, p + 0.5 * step * target.score(x)
    for leap in range(steps):
        q = q + step * r
        r = r + (step if leap < steps - 1 else last_half * step) * target.score(q)
    ratio = target.log_density(q) - target.log_density(x) + 0.5 * (p**2 - r**2).sum(1)
    kept = np.log(rng.random(len(x))) < ratio
    return np.where(kept[:, None], q, x), np.where(kept[:, None], r, -p)


def nuts(target, x, rng, step=0.6, depth=3, fault=""):
    """No-U-turn trajectories of at most 2**depth points, with multinomial choice.

    All points that a trajectory can reach are computed first, so that the tree is one of indices.
    """
    n, reach = len(x), 2**depth - 1
    places = np.arange(n)
    q, p = np.empty((2 * reach + 1, *x.shape)), np.empty((2 * reach + 1, *x.shape))
    q[reach], p[reach] = x, rng.standard_normal(x.shape)
    for way in (1, -1):
        for k in range(reach):
            here, there = reach + way * k, reach + way * (k + 1)
            half = p[here] + 0.5 * way * step * target.score(q[here])
            q[there] = q[here] + way * step * half
            p[there] = half + 0.5 * way * step * target.score(q[there])
    weight = np.stack([target.log_density(one) for one in q]) - 0.5 * (p**2).sum(2)
    weight = np.exp(weight - weight[reach])

    def turns(low, high):
        gap = q[high, places] - q[low, places]
        ends = [(gap * p[end, places]).sum(1) for end in (low, high)]
        return (ends[0] < 0) | (ends[1] < 0)

    low, high = np.full(n, reach), np.full(n, reach)
    chosen, going, total = low.copy(), np.ones(n, bool), weight[low, places]
    for k in range(depth):
        size, right = 2**k, rng.random(n) < 0.5
        first = np.clip(np.where(right, high + 1, low - size), 0, 2 * reach + 1 - size)
        bad = np.zeros(n, bool)
        for width in [2**j for j in range(1, k + 1)]:
            for start in range(0, size, width):
                left = low if fault == "boundary" else first + start
                bad |= turns(left, first + start + width - 1)
        if fault == "subtrees":
            bad[:] = False
        inside = weight[first[:, None] + np.arange(size), places[:, None]]
        own = np.ones_like(inside) if fault == "weights" else inside
        picks = (own.cumsum(1) < rng.random((n, 1)) * own.sum(1, keepdims=True)).sum(1)
        going &= ~bad
        new = inside.sum(1)
        taken = going & ((rng.random(n) * total < new) | (fault == "always"))
        chosen = np.where(taken, first + np.minimum(picks, size - 1), chosen)
        total = np.where(going, total + new, total)
        low = np.where(going & ~right, first, low)
        high = np.where(going & right, first + size - 1, high)
        going &= ~turns(low, high)
    return q[chosen, places]


def walk(target, x, rng, step=1.5, single=0.0):
    """Random-walk Metropolis; wrong with log-densities of size `single` in single precision."""
    moved = x + step * rng.standard_normal(x.shape)
    values = [target.log_density(one) for one in (moved, x)]
    if single:
        values = [np.float32(one + np.float32(single)).astype(float) for one in values]
    return accept(rng, values[0] - values[1], moved, x)


def tempered(target, cold, hot, rng, beta=0.3, stale=False, wrong=False):
    """A ladder of two temperatures; wrong with stale log-densities or a wrong temperature."""
    cached = [target.log_density(cold), target.log_density(hot)]
    difference = beta if wrong else 1.0 - beta
    swap = np.log(rng.random(len(cold))) < difference * (cached[1] - cached[0])
    cold, hot = np.where(swap[:, None], hot, cold), np.where(swap[:, None], cold, hot)
    fresh = cached if stale else [target.log_density(cold), target.log_density(hot)]
    moved = [cold + rng.standard_normal(cold.shape), hot + 2.0 * rng.standard_normal(hot.shape)]
    ratio = [target.log_density(one) - known for one, known in zip(moved, fresh, strict=True)]
    return accept(rng, ratio[0], moved[0], cold), accept(rng, beta * ratio[1], moved[1], hot)


def adapted(target, x, scale, rng, gain=1.0):
    """A random walk whose scale follows the last decision for ever."""
    moved = x + scale[:, None] * rng.standard_normal(x.shape)
    taken = np.log(rng.random(len(x))) < target.log_density(moved) - target.log_density(x)
    return np.where(taken[:, None], moved, x), scale * np.exp(gain * (taken - 0.4))


def langevin(target, x, rng, step=0.4, noise=1.0):
    """Stochastic gradient Langevin dynamics, with minibatch noise that nothing corrects."""
    score = target.score(x) + noise * rng.standard_normal(x.shape)
    return x + 0.5 * step**2 * score + step * rng.standard_normal(x.shape)


def mixture(target, x, label, rng):
    """Gibbs steps for a label and a place: proposals ∝ p(label), but not the label there is.

    The ratio of probabilities is no correction for such proposals: that is (1 - p) / (1 - p').
    """
    places = np.arange(len(x))
    p = target.weights * np.exp(-0.5 * (x - target.centres) ** 2)
    p /= p.sum(1, keepdims=True)
    others = p.copy()
    others[places, label] = 0.0
    others /= others.sum(1, keepdims=True)
    new = (others.cumsum(1) < rng.random((len(x), 1))).sum(1)
    new = np.minimum(new, len(target.weights) - 1)
    taken = rng.random(len(x)) * p[places, label] < p[places, new]
    label = np.where(taken, new, label)
    return target.centres[label][:, None] + rng.standard_normal(x.shape), label
