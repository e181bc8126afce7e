"""The paper's split-sample tests: Algorithm 1 (`psd_test`) and Algorithm 3 (`lambda_psd_test`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from polystein._lib.arguments import one_of, standardisation
from polystein._lib.numerics import TINY
from polystein.data.coordinates import RAW, Frame
from polystein.data.passes import run_pass
from polystein.data.sample import as_source
from polystein.data.source import Rows, Source
from polystein.data.split import TRAINING, RandomSplit, Split
from polystein.inference.columns import ColumnMoments
from polystein.inference.pareto import LargestValues
from polystein.inference.pvalues import tail_probability
from polystein.inference.variance import IID, Variance
from polystein.methods.contributions import with_finer_weights
from polystein.methods.split_sample import (
    DividedRows,
    ProjectedTestRows,
    combine_splits,
    expected_reads,
    first_notes,
    heavy_tail_warning,
    low_ess_warning,
    refuse_zero_scores,
    require_rules,
    split_rows,
    with_training_gap,
    z_statistics,
)
from polystein.results.evidence import Component, Evidence
from polystein.results.result import GofResult
from polystein.scale.threads import working
from polystein.stein.basis import Basis, basis_for
from polystein.stein.dual import fit_dual
from polystein.stein.moments import stein_moments
from polystein.stein.witness import (
    ProjectedColumns,
    PulledBackWitness,
    Witness,
    dual_is_cheaper,
    fit_matrices,
    maximiser,
)
from polystein.types import (
    RNG,
    Alternative,
    Array,
    BasisName,
    FloatArray,
    Progress,
    Resolution,
    Role,
    ScoreFunction,
    Standardise,
    Structure,
)
from polystein.weights.resolution import FinerWeights, default_rule, require_resolution
from polystein.weights.rules import Weights, require_weights


def psd_test(
    draws: Array | Source,
    scores: Array | ScoreFunction | None = None,
    /,
    *,
    order: int,
    structure: Structure = "full",
    basis: BasisName = "monomial",
    split: Split = RandomSplit(0.7),  # noqa: B008 - a frozen value
    variance: Variance = IID(),  # noqa: B008
    alternative: Alternative = "two-sided",
    standardise: Standardise = False,
    repeats: int = 1,
    n_jobs: int | None = None,
    rng: RNG = None,
    progress: Progress | None = None,
) -> GofResult:
    """Polynomial Stein discrepancy z-test (Algorithm 1).

    Training rows give the test function h = sum_i A_i x^i + b that maximises the
    discrepancy; on the test rows the mean of its Stein image u is 0 if the draws
    come from the target, which a z-test judges.

    Parameters
    ----------
    draws, scores : array, or Sample
        As for `Sample`; a `Sample` stands in for both. Draws of shape (n, d) are
        independent rows, (chain, draw, d) are chains in time order.
    order : int
        The paper's Q, at least 0.
    structure : {"full", "diagonal"}
        Whether each A_i is d x d or diagonal.
    basis : {"monomial", "hermite", "bounded-hermite"}
        The functions phi_i that A_i multiplies: the paper's powers, orthonormal
        Hermite polynomials, or these times exp(-x^2/4), which are bounded and so
        need no moments of the draws. The last two need ``standardise`` True or "whiten".
    split : RandomSplit, BlockSplit or ChainSplit
        Which rows train and which test; all training rows go to the test function.
        The default draws 70 % of the rows at random for training, as the published
        experiments did. It is for independent rows.
    variance : IID, InitialSequence or BatchMeans
        How the variance of the mean of u is estimated. The default is the paper's,
        for independent rows.
    alternative : {"two-sided", "greater"}
        "two-sided" as in the paper. The mean of u is positive on the training rows, so
        "greater" is valid too and has more power.
    standardise : bool or "whiten"
        Centre and scale by the training rows first, x -> (x - m)/c and s -> c s.
        PSD is invariant neither to shift nor to scale. With "whiten", correlation is
        taken out as well, by the symmetric root of the training rows' correlation R:
        x -> R^-1/2 (x - m)/c and s -> R^1/2 c s. Coordinates are then those of the
        whitened draws, each the one nearest to the draws' own.
    repeats : int
        Number of random splits of independent rows, at most 1,000,000. Their p-values are combined
        into min over k of 2/k (p_1 + ... + p_k), which is valid for exchangeable
        p-values (Gasparin, Wang and Ramdas, 2025, Combining exchangeable p-values);
        all else is reported for the split of the median statistic.
    n_jobs : int, optional
        Number of cores to use; -1 takes all. Results are the same for any number; without
        it, all is done on this thread and rounds differently.
    rng : int, SeedSequence, Generator or None
        An int or SeedSequence reproduces the result.
    progress : callable, optional
        Called as ``progress(done, total)`` as rows are read.

    Returns
    -------
    GofResult

    Notes
    -----
    The z-test is asymptotic. In low dimension at orders 3 and 4 u is skewed, and
    at n = 1000 the size at level 0.05 is up to 0.08 (d = 2, order 3).

    Stein's identity needs draws and scores on the unconstrained space, where the
    density vanishes at infinity: on a constrained scale (a rate, a probability)
    even perfect draws are rejected.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).normal(0.2, 1.0, size=(1000, 2))
    >>> result = ps.psd_test(draws, lambda x: -x, order=1, rng=1)
    >>> round(result.pvalue, 4)
    0.0
    """
    standardise = standardisation(standardise)
    functions = basis_for(basis, order, standardise=standardise is not False)
    source = as_source(draws, scores)
    require_rules(source, split, variance, alternative, repeats)
    settings = _settings(functions, structure, split, variance, None, standardise)
    notes, results = first_notes(source, split, variance), []
    reads = expected_reads(source, split, standardise, repeats)
    with working(source, n_jobs, progress, reads):
        # Split the rows, by default once and at random, into D_tr and D_te
        for rows in split_rows(source, split, rng, notes, standardise=standardise, repeats=repeats):
            # Training: Stein moments mu_i and mu_b of all of D_tr, and the maximiser A_i, b
            d_tr, count = rows.partition.rows(*TRAINING), rows.partition.count(*TRAINING)
            witness = fit_witness(source, d_tr, functions, structure, frame=rows.frame, count=count)
            rows = with_training_gap(rows, witness)  # for chains; not in the paper

            # Testing: u = sum_i <A_i, Phi_i(x)> + <b, s(x)> on D_te, and its z-statistic
            results.append(z_test(rows, witness, None, variance, alternative, settings))
    return combine_splits(results, notes, rng)


def lambda_psd_test(
    draws: Array | Source,
    scores: Array | ScoreFunction | None = None,
    /,
    *,
    order: int,
    weights: Weights | None = None,
    resolution: Resolution = "order",
    structure: Structure = "full",
    basis: BasisName = "monomial",
    split: Split = RandomSplit(0.7),  # noqa: B008
    variance: Variance = IID(),  # noqa: B008
    alternative: Alternative = "two-sided",
    standardise: Standardise = False,
    repeats: int = 1,
    n_jobs: int | None = None,
    rng: RNG = None,
    progress: Progress | None = None,
) -> GofResult:
    """lambda-PSD z-test (Algorithm 3).

    One part of the training rows gives the test function, another the weights
    lambda of its features <A_i, Phi_i(x)>, chosen for the largest signal-to-noise
    ratio; a z-test on the test rows judges the weighted sum.

    Parameters
    ----------
    draws, scores : array, or Sample
        As for `Sample`; a `Sample` stands in for both.
    order : int
        The paper's Q, at least 0. At order 0 there is one feature, all training
        rows go to it, and the test is that of `psd_test`.
    weights : CrossEntropy, ClosedForm, SoftThreshold, Uniform or other rule, optional
        How lambda is found. `CrossEntropy` is the paper's; `ClosedForm` is faster;
        `SoftThreshold` is for many weights. The default is the paper's, but
        `SoftThreshold` where a finer `resolution` has more than 32 weights.
    resolution : {"order", "coordinate", "hierarchical", "entry"}
        What has a weight of its own (Section 4.4): each order, Q + 1 in all; each
        order and coordinate, Q d + d; the same as a product of an order's and a
        coordinate's weight, Q + 1 + d; or each entry of every A_i and b, Q d^2 + d.
        Finer weights find a discrepancy in few of many coordinates. All but "order"
        need ``standardise=True``, and rules that need covariances, `CrossEntropy`
        and `ClosedForm`, take at most 1024 weights.
    structure, basis, split, variance, alternative, standardise, repeats, n_jobs, rng, progress
        As for `psd_test`.

    Returns
    -------
    GofResult
        ``weights`` and ``explain()`` tell which moment orders drive the verdict. With
        a finer `resolution`, an order's weight is the Euclidean norm of its weights, and
        ``evidence.coordinates`` (at "entry" also ``evidence.entries``) names the
        largest parts in the mean of u over the test rows, with their shares.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).laplace(scale=0.5**0.5, size=(2000, 16))
    >>> result = ps.lambda_psd_test(draws, lambda x: -x, order=3, rng=1)
    >>> result.pvalue < 0.001, result.explain()[0].name
    (True, 'x^3')

    Where one variance of 64 is wrong, weights of coordinates find it.

    >>> draws = np.random.default_rng(2).standard_normal((1000, 64))
    >>> draws[:, 7] *= 1.7**0.5
    >>> options = dict(order=2, standardise=True, rng=1)
    >>> ps.lambda_psd_test(draws, lambda x: -x, **options).pvalue < 0.05
    False
    >>> result = ps.lambda_psd_test(draws, lambda x: -x, resolution="coordinate", **options)
    >>> result.pvalue < 0.001, result.evidence.coordinates[0].name
    (True, 'x[7]')
    """
    require_weights(weights)
    standardise = standardisation(standardise)
    require_resolution(resolution, standardise=standardise is not False)
    functions = basis_for(basis, order, standardise=standardise is not False)
    source = as_source(draws, scores)
    require_rules(source, split, variance, alternative, repeats)
    if weights is None:
        weights = default_rule(resolution, functions, structure, source.layout.dimension)
    settings = _settings(functions, structure, split, variance, weights, standardise)
    notes, results = first_notes(source, split, variance), []
    reads = expected_reads(source, split, standardise, repeats)
    with working(source, n_jobs, progress, reads):
        # Split the rows, by default once and at random, into D_1, D_2 and D_te: 35, 35 and 30 %
        for rows in split_rows(source, split, rng, notes, standardise=standardise, repeats=repeats):
            if resolution == "order":
                # Training (stage 1): A_i and b from D_1, as in Algorithm 1. At order 0 the only
                # feature has the weight 1, so that all training rows go to b; not in the paper
                roles: tuple[Role, ...] = ("witness",) if order > 0 else TRAINING
                d_1, count = rows.partition.rows(*roles), rows.partition.count(*roles)
                witness = fit_witness(
                    source, d_1, functions, structure, frame=rows.frame, count=count
                )
                lambdas = np.ones(1)
                if order > 0:
                    # Training (stage 2): the features of every row x_k of D_2, block by block,
                    # G[k, i] = <A_i, Phi_i(x_k)> for i = 1, ..., Q and G[k, Q+1] = <b, s(x_k)>.
                    # The rule, by default Algorithm 2, needs their mean and covariance, with the
                    # divisor n_2. It returns lambda times its sign: lambda' mean(G) >= 0
                    d_2 = list(rows.partition.rows("weights"))
                    features = ProjectedColumns(witness, ColumnMoments(order + 1))
                    run_pass(source, d_2, features)
                    lambdas = weights.solve(features.moments.finalise(), rows.streams.weights)
            else:
                # Section 4.4: finer weights, also from D_2. Entries of A_i and b are multiplied by
                # them, and all lambda are then 1
                d_2 = list(rows.partition.rows("weights"))
                primal = fit_matrices(
                    source, rows.partition.rows("witness"), functions, structure, frame=rows.frame
                )
                finer = FinerWeights(source, d_2, primal, weights, rows.streams.weights)
                factors = finer.factors(resolution)
                witness = folded = primal.scaled(factors)
                lambdas = np.ones(order + 1)
            rows = with_training_gap(rows, witness)  # for chains; not in the paper

            # Testing: u = sum_i lambda_i <A_i, Phi_i(x)> + lambda_{Q+1} <b, s(x)> on D_te, and z
            result = z_test(rows, witness, lambdas, variance, alternative, settings)
            if resolution != "order":
                result = with_finer_weights(result, rows, folded, factors, resolution)
            results.append(result)
    return combine_splits(results, notes, rng)


def _settings(
    basis: Basis,
    structure: Structure,
    split: Split,
    variance: Variance,
    weights: Weights | None,
    standardise: Standardise,
) -> dict[str, Any]:
    """The options, in a form that JSON can hold."""
    return {
        "order": basis.order,
        "basis": type(basis).__name__,
        "structure": structure,
        "split": repr(split),
        "variance": repr(variance),
        "weights": None if weights is None else repr(weights),
        "standardise": standardise,
    }


def fit_witness(
    source: Source,
    rows: Iterable[Rows],
    basis: Basis,
    structure: Structure = "full",
    *,
    frame: Frame = RAW,
    count: int,
) -> Witness:
    """The test function h of Proposition 3.2, trained on these rows, `count` in all."""
    one_of(structure, Structure, "structure")
    rows = list(rows)
    if structure == "full" and dual_is_cheaper(count, source.layout.dimension, basis.order):
        # Not in the paper: the same features up to the common factor 1/Z, without d x d matrices
        dual = fit_dual(source, rows, basis, frame, count)
        if dual is not None:
            return dual
    # mu_i and mu_b: the means of Phi_i(x) = s(x) phi_i(x)^T + diag(phi_i'(x)) and of s(x)
    moments = stein_moments(source, rows, basis, structure, answer=frame)
    # A_i = mu_i / Z and b = mu_b / Z, where Z^2 = sum_i ||mu_i||^2 + ||mu_b||^2
    witness = maximiser(moments.finalise(), basis, structure, frame)
    # Powers of draws far from 0 were summed in another frame, and are evaluated there, too
    return witness if moments.working is frame else PulledBackWitness.of(witness, moments.working)


def z_test(
    rows: DividedRows,
    witness: Witness,
    lambdas: FloatArray | None,
    variance: Variance,
    alternative: Alternative,
    settings: dict[str, Any],
) -> GofResult:
    """z = mean(u) / se(u) on the test rows, its p-value, and what each feature adds to it.

    u(x) = sum_i lambda_i <A_i, Phi_i(x)> + lambda_{Q+1} <b, s(x)>, where lambda is 1 for PSD, whose
    ``lambdas`` are None. For n independent rows z is sqrt(n) mean(u) / s_u, where
    s_u^2 = sum_j (u_j - mean(u))^2 / (n - 1) (`IID`).
    """
    source, partition, names = rows.source, rows.partition, witness.names
    n_test = partition.count("test")
    weights = np.ones(len(names)) if lambdas is None else lambdas
    # The columns are u = G lambda and then its features G, block by block.
    columns = ProjectedTestRows(
        witness,
        variance.accumulator(source.layout.lengths, 1 + weights.size),
        [LargestValues(n_test)],
        combined=weights,
    )
    run_pass(source, partition.rows("test"), columns)
    # Their means, and the covariance of these means: for `IID` that of rows, divisor n - 1, over n
    tested = columns.variance.finalise()
    # z = mean(u) / sqrt(variance of mean(u)), and the same for every feature
    z = z_statistics(tested, judged=slice(1))
    if tested.mean[-1] == tested.covariance[-1, -1] == 0.0:  # <b, s(x)> is 0 at every test row
        refuse_zero_scores(source)
    # For `IID` the degrees of freedom are infinite: the normal law, as in the paper
    pvalue = tail_probability(float(z[0]), float(tested.df[0]), alternative)

    ess = float(tested.ess[0])
    rows.notes.add(low_ess_warning(ess, variance.least_ess), heavy_tail_warning(columns.tails[0]))
    # Each feature with its share in the mean of u: absolute values sum to 1.
    products = weights * tested.mean[1:]
    shares = products / max(float(np.abs(products).sum()), TINY)
    numbers = (z[1:].tolist(), weights.tolist(), shares.tolist())
    return GofResult(
        statistic=float(z[0]),
        pvalue=pvalue,
        alternative=alternative,
        method="psd" if lambdas is None else "lambda-psd",
        dimension=source.layout.dimension,
        weights=None if lambdas is None else dict(zip(names, lambdas.tolist(), strict=True)),
        components=tuple(map(Component, names, witness.words, *numbers)),
        evidence=Evidence(estimates=rows.estimates),
        ess=ess,
        n_train=partition.count(*TRAINING),
        n_gap=partition.count("gap"),
        n_test=n_test,
        settings=settings,
    )
