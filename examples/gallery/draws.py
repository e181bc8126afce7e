"""How the draws of the gallery are made: `function(target, rng)` gives (chain, draw, d).

Draws of one approximation or proposal have the shape (n, d), and are independent.
"""

from functools import partial

import numpy as np

from examples.museum import kernels
from examples.museum.exhibits import repeated, without_jacobian

CHAINS, LENGTH = 4, 1000
ROWS = CHAINS * LENGTH
#: Of the proposals whose draws are weighted.
PROPOSAL_SD = 1.5
#: Of the prior that the sampler used; the model's is in `faults`.
PRIOR_OF_SAMPLER = 5.0


def in_chains(rows):
    """Independent rows as chains of equal length."""
    return rows.reshape(CHAINS, -1, rows.shape[-1])


def right(target, rng):
    return in_chains(target.draws(rng, ROWS))


def from_far(target, rng, start=20.0, step=0.5, length=500):
    """MALA from a distant start, with no warm-up."""
    x, out = target.draws(rng, CHAINS) + start, []
    for _ in range(length):
        x = kernels.mala(target, x, rng, step=step)
        out.append(x)
    return np.stack(out, axis=1)


def mean_field(target, rng):
    """The best normal approximation with independent coordinates, by Kullback and Leibler."""
    return rng.standard_normal((ROWS, 2)) / np.sqrt(np.diag(target.precision))


def unadjusted(target, rng, step=0.9):
    return repeated(partial(kernels.langevin, step=step, noise=0.0))(target, rng, CHAINS, LENGTH)


def torn_apart(target, rng):
    """Every column in an order of its own."""
    return in_chains(rng.permuted(target.draws(rng, ROWS), axis=0))


def forgotten_jacobian(target, rng):
    return without_jacobian(target, rng, CHAINS, LENGTH)


def cut(target, rng, bound=2.0):
    """Draws whose first coordinate lies within the bound."""
    rows = target.draws(rng, 2 * ROWS)
    return in_chains(rows[np.abs(rows[:, 0]) < bound][:ROWS])


def one_mode(target, rng):
    return in_chains(target.centres[1] + rng.standard_normal((ROWS, 1)))


def unbalanced(target, rng, share=0.8):
    """Both modes, with this share of the draws in the second."""
    labels = (rng.random(ROWS) < share).astype(int)
    return in_chains((target.centres[labels] + rng.standard_normal(ROWS))[:, None])


def moving(target, rng, step=0.8, length=LENGTH):
    """MALA from exact draws, as it should be."""
    return repeated(partial(kernels.mala, step=step))(target, rng, CHAINS, length)


def stuck(target, rng, since=300):
    """One chain of four stays where it is."""
    chains = moving(target, rng)
    chains[2, since:] = chains[2, since]
    return chains


def one_elsewhere(target, rng, distance=1.0):
    """One chain of four lies this far off."""
    chains = moving(target, rng)
    chains[2, :, 0] += distance
    return chains


def short(target, rng):
    return moving(target, rng, step=0.4, length=100)


def copied(target, rng):
    """The fourth chain is the second."""
    chains = moving(target, rng)
    chains[3] = chains[1]
    return chains


def proposals(target, rng):
    return PROPOSAL_SD * target.draws(rng, ROWS)


def heavy(target, rng, freedom=5.0):
    """Student's t with the mean and the variance of the target."""
    return in_chains(rng.standard_t(freedom, (ROWS, 2)) * np.sqrt((freedom - 2.0) / freedom))


def of_study(draw, d):
    """Draws of a study of blind spots."""
    return lambda target, rng: in_chains(draw(rng, ROWS, d)[0])


def of_another(other):
    """Exact draws of another target."""
    return lambda target, rng: right(other, rng)
