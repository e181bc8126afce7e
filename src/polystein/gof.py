"""The paper's split-sample tests: Algorithms 1 and 3, assembled from the rooms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from polystein._arrays import to_numpy
from polystein._random import Streams
from polystein.basis import Monomial
from polystein.blocks import reduce_blocks
from polystein.coordinates import RAW, Coordinates, standard_coordinates
from polystein.errors import DegenerateError, DependenceWarning, InputError, LowESSWarning
from polystein.moments import ColumnMoments, finite
from polystein.protocols import (
    RNG,
    Accumulator,
    Alternative,
    Array,
    Basis,
    Block,
    FloatArray,
    LongRun,
    Partition,
    Role,
    Split,
    Structure,
    Variance,
    Weights,
    Witness,
)
from polystein.result import Component, GofResult, Notes, tail_probability
from polystein.sample import Sample, ScoreFunction, as_sample
from polystein.split import RandomSplit
from polystein.variance import IID
from polystein.weights import CrossEntropy
from polystein.witness import feature_moments, feature_names, fit_witness

_TRAINING: tuple[Role, ...] = ("witness", "weights")


def psd_test(
    draws: Array | Sample,
    scores: Array | ScoreFunction | None = None,
    /,
    *,
    order: int,
    structure: Structure = "full",
    split: Split = RandomSplit(0.7),  # noqa: B008 - a frozen value
    variance: Variance = IID(),  # noqa: B008
    alternative: Alternative = "two-sided",
    standardise: bool = False,
    rng: RNG = None,
) -> GofResult:
    """Polynomial Stein discrepancy z-test (Algorithm 1).

    Training rows give the test function h = sum_i A_i x^i + b that maximises the
    discrepancy; on the test rows the mean of its Stein image u is 0 if the draws
    come from the target, which a z-test judges.

    Parameters
    ----------
    draws, scores : array, or Sample
        As for `Sample`; a `Sample` stands in for both.
    order : int
        The paper's Q, at least 0.
    structure : {"full", "diagonal"}
        Whether each A_i is d x d or diagonal.
    split : RandomSplit or other split
        Which rows train and which test; all training rows go to the test function.
    variance : IID or other variance rule
        How the variance of the mean of u is estimated.
    alternative : {"two-sided", "greater"}
        "two-sided" as in the paper. The trained test function knows its sign, so
        "greater" is valid too and has more power.
    standardise : bool
        Centre and scale by the training rows first, x -> (x - m)/c and s -> c s.
        PSD is invariant neither to shift nor to scale.
    rng : int, SeedSequence, Generator or None
        An int or SeedSequence reproduces the result.

    Returns
    -------
    GofResult

    Notes
    -----
    The z-test is asymptotic. In low dimension at orders 3 and 4 u is skewed, and
    at n = 1000 the size at level 0.05 is up to 0.08 (d = 2, order 3).

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).normal(0.2, 1.0, size=(1000, 2))
    >>> result = ps.psd_test(draws, lambda x: -x, order=1, rng=1)
    >>> round(result.pvalue, 4)
    0.0
    """
    stage = _Stage.prepare(draws, scores, order, structure, split, alternative, standardise, rng)

    # Training
    witness = stage.fit(*_TRAINING)

    # Testing
    result = stage.verdict(
        witness, np.ones(order + 1), variance, method="psd", weights=None, split=split
    )
    stage.notes.emit()
    return result


def lambda_psd_test(
    draws: Array | Sample,
    scores: Array | ScoreFunction | None = None,
    /,
    *,
    order: int,
    weights: Weights = CrossEntropy(),  # noqa: B008
    structure: Structure = "full",
    split: Split = RandomSplit(0.7),  # noqa: B008
    variance: Variance = IID(),  # noqa: B008
    alternative: Alternative = "two-sided",
    standardise: bool = False,
    rng: RNG = None,
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
    weights : CrossEntropy, ClosedForm, Uniform or other rule
        How lambda is found. `CrossEntropy` is the paper's; `ClosedForm` is faster.
    structure, split, variance, alternative, standardise, rng
        As for `psd_test`.

    Returns
    -------
    GofResult
        ``weights`` and ``explain()`` tell which moment orders drive the verdict.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).laplace(scale=0.5**0.5, size=(2000, 8))
    >>> result = ps.lambda_psd_test(draws, lambda x: -x, order=3, rng=1)
    >>> result.pvalue < 0.001, result.explain()[0].name
    (True, 'x^3')
    """
    stage = _Stage.prepare(draws, scores, order, structure, split, alternative, standardise, rng)
    if order == 0:
        witness, chosen = stage.fit(*_TRAINING), np.ones(1)
    else:
        # Training (stage 1)
        witness = stage.fit("witness")

        # Training (stage 2)
        features = feature_moments(stage.sample, stage.partition.rows("weights"), witness)
        chosen = weights.solve(features, stage.streams.weights)

    # Testing
    result = stage.verdict(
        witness, chosen, variance, method="lambda-psd", weights=weights, split=split
    )
    stage.notes.emit()
    return result


@dataclass(frozen=True)
class _Stage:
    """What both algorithms share: the validated sample, its roles, its coordinates."""

    sample: Sample
    partition: Partition
    basis: Basis
    structure: Structure
    answer: Coordinates
    alternative: Alternative
    streams: Streams
    notes: Notes
    n_train: int

    @classmethod
    def prepare(
        cls,
        draws: Array | Sample,
        scores: Array | ScoreFunction | None,
        order: int,
        structure: Structure,
        split: Split,
        alternative: Alternative,
        standardise: bool,
        rng: RNG,
    ) -> _Stage:
        validate_alternative(alternative)
        basis = Monomial(order)
        sample = as_sample(draws, scores)
        stages = Streams(rng)
        partition = split.partition(sample.layout, stages.split)
        answer = standardised(sample, partition) if standardise else RAW
        return cls(
            sample,
            partition,
            basis,
            structure,
            answer,
            alternative,
            stages,
            Notes(),
            partition.count(*_TRAINING),
        )

    def fit(self, *roles: Role) -> Witness:
        """Train the test function on the rows of these roles."""
        return fit_witness(
            self.sample,
            self.partition.rows(*roles),
            self.basis,
            self.structure,
            answer=self.answer,
            count=self.partition.count(*roles),
        )

    def verdict(
        self,
        witness: Witness,
        chosen: FloatArray,
        variance: Variance,
        *,
        method: str,
        weights: Weights | None,
        split: Split,
    ) -> GofResult:
        """z-test of u = features lambda on the test rows."""
        tested = test_columns(self.sample, self.partition, witness, chosen, variance)
        statistic = z_statistics(tested)
        self._note_dependence(split, variance)
        self._note_ess(tested, variance)
        names = feature_names(self.basis)
        products = chosen * tested.mean[1:]
        shares = products / max(float(np.abs(products).sum()), np.finfo(float).tiny)
        named = dict(zip(names, chosen.tolist(), strict=True))
        return GofResult(
            statistic=float(statistic[0]),
            pvalue=tail_probability(float(statistic[0]), float(tested.df[0]), self.alternative),
            alternative=self.alternative,
            method=method,
            weights=None if weights is None else named,
            components=tuple(
                Component(name, float(z), named[name])
                for name, z in zip(names, statistic[1:], strict=True)
            ),
            ess=float(tested.ess[0]),
            n_train=self.n_train,
            n_gap=self.partition.count("gap"),
            n_test=self.partition.count("test"),
            settings=self._settings(variance, weights, split, shares),
            warnings=self.notes.messages,
        )

    def _settings(
        self, variance: Variance, weights: Weights | None, split: Split, shares: FloatArray
    ) -> dict[str, Any]:
        return {
            "order": self.basis.order,
            "dimension": self.sample.layout.dimension,
            "structure": self.structure,
            "split": repr(split),
            "variance": repr(variance),
            "weights": None if weights is None else repr(weights),
            "standardise": self.answer is not RAW,
            "shares": dict(zip(feature_names(self.basis), shares.tolist(), strict=True)),
        }

    def _note_dependence(self, split: Split, variance: Variance) -> None:
        if self.sample.layout.time_ordered and (
            isinstance(split, RandomSplit) or isinstance(variance, IID)
        ):
            self.notes.add(
                DependenceWarning(
                    f"`draws` are {len(self.sample.layout.lengths)} time-ordered chains, but "
                    f"{split} with {variance} holds for independent rows only: on autocorrelated "
                    "draws from the right target it rejects far too often"
                )
            )

    def _note_ess(self, tested: LongRun, variance: Variance) -> None:
        least = getattr(variance, "least_ess", 0.0)
        if tested.ess[0] < least:
            self.notes.add(
                LowESSWarning(
                    f"the p-value rests on {tested.ess[0]:.0f} effective test draws; it is not to "
                    f"be trusted with fewer than {least:.0f}: take more draws"
                )
            )


def test_columns(
    sample: Sample,
    partition: Partition,
    witness: Witness,
    chosen: FloatArray,
    variance: Variance,
) -> LongRun:
    """Mean and long-run covariance of u and of each feature over the test rows."""

    def zero() -> Accumulator:
        return variance.accumulator(sample.layout, 1 + chosen.shape[0])

    def update(state: Accumulator, block: Block) -> Accumulator:
        features = witness.project(block.draws, block.scores)
        columns = np.concatenate([(features @ chosen)[:, None], features], axis=1)
        finite(float(np.max(np.abs(columns))), "the test column u")
        state.update(columns, block.weights, block.chain, block.start)
        return state

    return reduce_blocks(sample, partition.rows("test"), zero, update, _no_merge).finalise()


def z_statistics(tested: LongRun) -> FloatArray:
    """mean / standard error; a constant u is an error, a constant feature has z = 0."""
    mean, error = tested.mean, np.sqrt(np.diagonal(tested.covariance))
    flat = ~(error > 16 * np.finfo(float).eps * np.abs(mean))
    if flat[0]:
        raise DegenerateError(
            f"the test column u has no variance: it is {mean[0]:.6g} on every test row. "
            "Are the draws or the scores constant?"
        )
    return np.divide(mean, error, out=np.zeros_like(mean), where=~flat)


def standardised(sample: Sample, partition: Partition) -> Coordinates:
    """Coordinates by the training rows' mean and standard deviation."""

    def update(state: ColumnMoments, block: Block) -> ColumnMoments:
        return state.update(to_numpy(block.draws), block.weights)

    dimension = sample.layout.dimension
    moments = reduce_blocks(
        sample,
        partition.rows(*_TRAINING),
        lambda: ColumnMoments(dimension, joint=False),
        update,
        ColumnMoments.merge,
    )
    spread = np.sqrt(moments.scatter / moments.weight)
    return standard_coordinates(moments.mean, spread, sample.read(0, 0, 1).draws)


def validate_alternative(alternative: str) -> None:
    """One of the two that have a meaning here."""
    if alternative not in ("two-sided", "greater"):
        raise InputError(f"`alternative` must be 'two-sided' or 'greater'; got {alternative!r}")


def _no_merge(first: Accumulator, second: Accumulator) -> Accumulator:
    raise AssertionError("test columns are gathered in one thread, in time order")
