"""The twenty faults: how the draws are made, what happened, what is expected, and what to do."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from examples.gallery import draws, views
from examples.gallery.targets import Regression, StandardNormal, StudentT, TwoModes
from examples.museum.exhibits import LOG_GAMMA, NORMAL, PLAIN
from studies.check import blind_spot_draws as spots

#: What an error of `check` is called in place of a verdict.
REFUSED = "refused"
#: Of a report in which nothing has a size.
NO_SIZE = "no single mean, sd, correlation or shape stands out"
NEAR, FAR, APART = TwoModes(3.0), TwoModes(12.0), TwoModes(8.0)


def single_precision(x):
    """The score of N(0, covariance), in float32."""
    return -x.astype(np.float32) @ NORMAL.precision.astype(np.float32)


class Fault(NamedTuple):
    """`draw(target, rng)` makes the draws; `happened` and `advice` are prose.

    The run stops unless the verdict is as ``expected`` and the report has all that ``says`` lists.
    With ``refined``, its expected verdict, `refine` is run, too.
    """

    name: str
    target: object
    draw: Callable
    happened: str
    expected: str
    says: tuple[str, ...]
    advice: str
    view: Callable = views.histogram
    scores: Callable | None = None
    log_weights: Callable | None = None
    refined: str = ""


FAULTS = (
    Fault(
        "A burn-in that was kept",
        PLAIN,
        draws.from_far,
        "Four chains of MALA start 20 sd from the centre, and no draw is dropped. The chains "
        "take about 20 of their 500 draws to arrive.",
        "rejected",
        ("draws of every chain differ from what follows",),
        "Drop the draws that the result names, or take a longer warm-up. Then check again: the "
        "sizes are approximate while the way from the start is among the draws.",
        view=views.traces,
    ),
    Fault(
        "A mean-field variational fit",
        NORMAL,
        draws.mean_field,
        "The target has a correlation of 0.75. The best normal approximation with independent "
        "coordinates ignores it, and its sds are those of each coordinate with the other held "
        "fixed: too small by the factor √(1 − 0.75²) = 0.66.",
        "rejected",
        ("as with mean-field variational",),
        "Use a full-rank approximation or MCMC. If only means matter, ask for a `tolerance`.",
        view=views.scatter,
    ),
    Fault(
        "Langevin steps that are too long",
        PLAIN,
        draws.unadjusted,
        "The unadjusted Langevin algorithm has no accept step, so its error does not go away with "
        "more draws. The step is 0.9. For this target the sd of the chain is known: it is "
        "12 % too large.",
        "rejected",
        ("as with a step size that",),
        "Use a smaller step, or MALA, which corrects each step.",
    ),
    Fault(
        "Columns that lost their rows",
        NORMAL,
        draws.torn_apart,
        "The draws of each parameter are right, but the columns were shuffled one by one. "
        "Every margin is right. The correlation of 0.75 is gone.",
        "rejected",
        ("the correlation of `x[0]` and `x[1]`",),
        "The line Next names the commonest cause of this pattern, which is not the cause here. "
        "Keep the rows of all parameters together, in the order of the sampler. Plots of margins "
        "cannot show this fault.",
        view=views.scatter,
    ),
    Fault(
        "A forgotten Jacobian",
        LOG_GAMMA,
        draws.forgotten_jacobian,
        "The model has a gamma variable y with shape 2. The sampler moves log y, but uses the "
        "density of y. Its draws are those of shape 1.",
        "rejected",
        ("the mean of `x[0]` is",),
        "Add the log determinant of the transformation to the log density. `ps.same_target` "
        "compares two implementations of a model.",
    ),
    Fault(
        "Tails that were cut",
        PLAIN,
        draws.cut,
        "A bound that the model does not have keeps the first coordinate within 2 sd, as a "
        "clipped parameter or a filter for outliers does.",
        "rejected",
        ("the tails of `x[0]` are too light",),
        "Remove the bound, or put it into the model. Do not remove outliers from draws.",
    ),
    Fault(
        "A missed mode nearby",
        NEAR,
        draws.one_mode,
        "The target has two equal modes, 3 sd apart. All draws are in one of them. Some lie in "
        "the valley, where the scores feel the other mode.",
        "rejected",
        ("location of x[0]", "no property that was measured can be judged"),
        "The result says that the location is off, and gives no size: the regression behind "
        "`effects` does not hold for such a target. `refine` gives one.",
        refined="rejected",
    ),
    Fault(
        "A missed mode far away",
        FAR,
        draws.one_mode,
        "The same with modes 12 sd apart. No draw comes near the valley, and where the draws are, "
        "the scores are those of a target with one mode.",
        "not rejected",
        ("A distant mode that",),
        "**`check` cannot see this, however many draws there are in this mode.** The line "
        "Power speaks of errors that show where the draws are. Start chains from scattered "
        "places, or use tempering. "
        "`refine` evaluates the log density, and heats some draws to look for other modes.",
        refined="rejected",
    ),
    Fault(
        "Modes with the wrong weights",
        APART,
        draws.unbalanced,
        "Two equal modes, 8 sd apart. Both are found, but 80 % of the draws are in one of them "
        "instead of 50 %. Tempering with a wrong ladder does this. So do chains that each stay "
        "where they started, and then R-hat shows it.",
        "not rejected",
        ("a wrong balance between distant modes",),
        "**`check` cannot see this:** between distant modes their weights drop out of the score. "
        "The line Power speaks of errors that show where the draws are, not of weight that another "
        "mode lacks. `refine` jumps between modes, and sees it.",
        refined="rejected",
    ),
    Fault(
        "A chain that got stuck",
        PLAIN,
        draws.stuck,
        "One of four chains stays at one point from draw 300 on.",
        "rejected",
        ("which does not move",),
        "Look at the chain that is named. Do not just leave it out: where it got stuck, the "
        "sampler fails. Take smaller steps, or another parametrisation.",
        view=views.traces,
    ),
    Fault(
        "Chains that disagree",
        PLAIN,
        draws.one_elsewhere,
        "One of four chains is 1 sd off in the first coordinate.",
        "rejected",
        ("which differs from the other chains",),
        "Look at the trace of the chain that is named. If it found a region of its own, the "
        "others missed it: run all of them for longer.",
        view=views.traces,
    ),
    Fault(
        "Chains that are too short",
        PLAIN,
        draws.short,
        "Nothing is wrong with this sampler, but its steps are short, and it took 100 of them.",
        "inconclusive",
        ("Too few effective draws",),
        "Run longer. “Inconclusive” is not a pass: the draws could not show a fault if there were "
        "one.",
        view=views.traces,
    ),
    Fault(
        "Tied magnitudes",
        StudentT(),
        draws.of_study(spots.common_scale, 2),
        "Two independent variables with t distributions became a multivariate t: they share one "
        "random scale. Margins and correlation are right.",
        "rejected",
        ("dependence of magnitudes of x[0] and x[1]", NO_SIZE),
        "Look for a scale that the two parameters share and should not. No mean, sd or "
        "correlation is wrong, so none is reported.",
        view=views.scatter,
    ),
    Fault(
        "Draws that were rounded",
        PLAIN,
        draws.of_study(partial(spots.rounded, step=0.5), 2),
        "The first coordinate was stored in steps of half an sd.",
        "rejected",
        ("fine structure of x[0]", NO_SIZE),
        "Store more digits. The mean is right, and the sd is 1 % too large, which is too "
        "little to be reported from so few draws.",
        view=partial(views.histogram, bins=np.arange(-4.05, 4.1, 0.1)),
    ),
    Fault(
        "Tails that are too heavy",
        PLAIN,
        draws.heavy,
        "The draws have a t distribution with 5 degrees of freedom for a normal one. Mean and "
        "variance are right.",
        "rejected",
        ("spread, shape of all coordinates together", NO_SIZE),
        "Look for a Student likelihood or prior where a normal one was meant. Draws of a proposal "
        "with heavy tails need importance weights.",
    ),
    Fault(
        "A chain that is there twice",
        PLAIN,
        draws.copied,
        "Two chains were run with one seed, or a file was read twice.",
        REFUSED,
        ("chains 1 and 3 have the same rows",),
        "Give every chain a seed of its own, or pass each chain once.",
        view=partial(views.traces, most=100),
    ),
    Fault(
        "Wrong importance weights",
        PLAIN,
        draws.proposals,
        "Draws of a proposal with sd 1.5 have weights that should be p/q. The density q of the "
        "proposal was forgotten, so the weights are p.",
        "rejected",
        ("all spreads are too small",),
        "The logarithm of a weight is log p − log q. The unweighted draws are too wide and the "
        "weighted ones too narrow, which points to the weights.",
        log_weights=PLAIN.log_density,
    ),
    Fault(
        "Gradients in single precision",
        NORMAL,
        draws.right,
        "The draws are right. The scores were computed in float32.",
        "not rejected",
        ("have the digits of float32",),
        "Nothing here: errors of this size do not change the answer. The warning matters where "
        "large terms of the log density cancel, as the error of the scores can then be large.",
        view=views.scatter,
        scores=single_precision,
    ),
    Fault(
        "A tie of four signs",
        StandardNormal(4),
        draws.of_study(partial(spots.tied_sign, others=3), 4),
        "The sign of the fourth coordinate is the product of the signs of the other three. Any "
        "three of them are independent normal variables; only all four together are wrong.",
        "rejected",
        ("any difference of all coordinates together", NO_SIZE),
        "The result says that something is wrong, and not what. This is the kernel net, which "
        "looks at all coordinates at once. In more dimensions it needs more draws.",
        view=views.products,
    ),
    Fault(
        "The wrong prior",
        Regression(0.5),
        draws.of_another(Regression(draws.PRIOR_OF_SAMPLER)),
        "Two coefficients of a regression with 20 observations. The model has a prior with sd "
        "0.5. The sampler ran with sd 5: an earlier version of the model.",
        "rejected",
        ("the mean of `x[1]` is", "the mean of `x[0]` is", "begin with `x["),
        "Compare the two models with `ps.same_target`. A wrong prior in the model itself is never "
        "seen, as the draws then agree with it.",
        view=views.scatter,
    ),
)
