"""Watching a sampler at work: draws as they come, and tests at fixed looks or at any time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Literal, Self

from polystein._lib.arguments import is_integer, one_of
from polystein._lib.arrays import as_rows, to_numpy
from polystein.data.guard.pairing import require_same_labels
from polystein.data.sample import Sample, validated_array
from polystein.errors import InputError
from polystein.stein.moments import SteinMoments
from polystein.types import Array, ScoreFunction, Structure
from polystein.workflows.anytime import AnytimePlan, AnytimeWatch, anytime_plan
from polystein.workflows.looks import Look, Plan, plan_of
from polystein.workflows.watch import Watch

_VERSION = 3
#: What a state holds besides its version. There is no watch before the first draw.
_PARTS: dict[str, Any] = {
    "plan": Plan | AnytimePlan,
    "moments": SteinMoments,
    "watch": Watch | AnytimeWatch | None,
}


class Monitor:
    """Watches chains while they are sampled.

    Takes draws as they come and keeps sums of bounded size instead of the draws. It gives the
    discrepancy of all draws so far at any time. It tests whether the draws come from the target,
    at looks that are fixed in advance or at any time. All looks together raise a false alarm with
    probability at most `alpha`.

    Parameters
    ----------
    score : callable or None
        The score, grad log p, as a function from (n, d) draws to an array of the same shape.
        None if `update` is given the scores, which gradient-based samplers have at hand.
    order : int
        The paper's Q, at least 0.
    looks : sequence of int, or "any"
        Numbers of draws of each chain at which to look, in increasing order. A look is taken
        when every chain has as many. With "any" nothing is fixed in advance: there is a look
        after every update that fills a batch of every chain, as long as the sampler runs.
    chains : int
        Number of chains. They must be independent of each other.
    alpha : float
        Probability of a false alarm, over all looks.
    gap : int, optional
        Draws of each chain that are left out after each look. It should be at least five
        autocorrelation times. The default is a tenth of the fewest draws between two looks.
        Only for looks that are fixed in advance.
    batch : int, optional
        Draws of each chain that are summed for one bet. It should be at least ten autocorrelation
        times. The default is 100. Only for ``looks="any"``.
    structure : {"full", "diagonal"}
        Whether each A_i is d x d or diagonal. The state takes O(chains Q d^2) numbers, or
        O(chains Q d).

    Notes
    -----
    A look that is fixed in advance tests only the draws since the look before it, without the
    first `gap` of each chain. The test function was fixed by earlier draws: those of its own chain
    up to the look before, and those of other chains that had come by then. Half of the draws before
    the first look train its test function. Each look may spend a part of `alpha` in proportion to
    its draws, for the draws since the last look and for all looks together. Variances are those of
    lugsail batch means, 32 batches over all chains. A look with fewer than five effective draws in
    a batch, or whose gap is shorter than two autocorrelation times, is inconclusive.

    With ``looks="any"`` the test is a wealth that bets on every batch: on its sums of Stein
    features, in directions that earlier batches fixed. Right draws raise the wealth to 1/alpha at
    any time with probability at most alpha, so that one may look after every update and stop
    whenever one likes. This is exact for batch sums that are independent and symmetric about 0
    given those before. For Markov chains it holds as batches get long, because long sums are nearly
    normal and hardly correlated. The first batch of every chain only fixes centre and scale.
    A look is inconclusive while a batch has fewer than four autocorrelation times by estimate,
    and while there is nothing to bet on. The p-value is 1 over the largest wealth so far: it never
    rises, and draws that come many at a time miss nothing.

    An alarm means that the sampler should be looked at. That no alarm was raised is no licence
    to stop sampling: the test bounds false alarms, and finds only what its order and the
    number of draws let it find. Use `check` on the finished draws.

    Leave warm-up out: its draws are not meant to come from the target.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> rng = np.random.default_rng(1)
    >>> monitor = ps.Monitor(lambda x: -x, 2, looks=(500, 1000, 1500, 2000), chains=4)
    >>> for step in range(20):
    ...     wrong = 1.0 if step < 10 else 1.3
    ...     for look in monitor.update(wrong * rng.standard_normal((4, 100, 3))):
    ...         print(look.number, look.verdict)
    1 not rejected
    2 not rejected
    3 not rejected
    4 rejected

    Without looks fixed in advance:

    >>> monitor = ps.Monitor(lambda x: -x, 2, looks="any", batch=50, chains=4)
    >>> while not monitor.alarm:
    ...     _ = monitor.update(1.3 * rng.standard_normal((4, 50, 3)))
    >>> monitor.looks[-1].verdict
    'rejected'
    """

    def __init__(
        self,
        score: ScoreFunction | None,
        order: int,
        *,
        looks: Sequence[int] | Literal["any"],
        chains: int = 1,
        alpha: float = 0.05,
        gap: int | None = None,
        batch: int | None = None,
        structure: Structure = "full",
    ) -> None:
        one_of(structure, Structure, "structure")
        self._score = _validated_score(score)
        self._moments = SteinMoments(order, structure=structure)
        self._plan: Plan | AnytimePlan
        if isinstance(looks, str) and looks == "any":
            if gap is not None:
                raise InputError(f'`gap` is for looks fixed in advance, not "any"; got {gap!r}')
            self._plan = anytime_plan(batch, chains, alpha)
        elif batch is not None:
            raise InputError(f'`batch` is for `looks="any"` alone; got {batch!r}')
        else:
            self._plan = plan_of(looks, chains, alpha, gap)
        self._watch: Watch | AnytimeWatch | None = None

    @property
    def plan(self) -> Plan | AnytimePlan:
        """The looks, the gap, and the level of each look; or the batches of looks at any time."""
        return self._plan

    @property
    def n_draws(self) -> tuple[int, ...]:
        """Draws of each chain so far."""
        return tuple(self._watch.rows) if self._watch else (0,) * self._plan.chains

    @property
    def looks(self) -> tuple[Look, ...]:
        """The looks so far; with ``looks="any"`` the first that raised an alarm, and the last."""
        return tuple(self._watch.looks) if self._watch else ()

    @property
    def alarm(self) -> bool:
        """Whether any look so far rejected."""
        return any(look.alarm for look in self.looks)

    def discrepancy(self) -> float:
        """The polynomial Stein discrepancy of all draws so far, as `psd` gives it."""
        if self._watch is None:
            raise InputError("there must be draws before there is a discrepancy; got none so far")
        return self._watch.discrepancy()

    def update(
        self, draws: Array, scores: Array | None = None, /, *, chain: int | None = None
    ) -> tuple[Look, ...]:
        """Take further draws, and take the looks that are due by then.

        Parameters
        ----------
        draws : array
            Of shape (chain, n, d), the next n draws of every chain; or, with `chain`, of shape
            (n, d). A single chain may have the shape (n, d). A single draw is ``draw[None]``.
        scores : array, optional
            Their scores. Not needed if the monitor has a score function.
        chain : int, optional
            The chain that the draws belong to. Chains may come in any order and at different
            speeds. A test function learns most if they come side by side.

        Returns
        -------
        tuple of Look
            The looks that were taken with these draws; mostly none. With ``looks="any"`` one, if
            batches of all chains got full.

        Notes
        -----
        Draws with NaN or of another dimension are an error, and nothing is taken then.
        """
        sample, numbers = self._validated(draws, scores, chain)
        dimension = sample.layout.dimension
        if self._watch is None:
            plan, moments = self._plan, self._moments
            if isinstance(plan, Plan):
                self._watch = Watch(plan, moments, dimension)
            else:
                self._watch = AnytimeWatch(plan, moments, dimension)
        elif self._watch.dimension != dimension:
            raise InputError(
                f"`draws` must have {self._watch.dimension} columns as before; got {dimension}"
            )
        shape = (len(numbers), -1, dimension)
        x, s = (to_numpy(array).reshape(shape) for array in (sample.draws, sample.scores))
        return tuple(self._watch.feed(numbers, x, s))

    def _validated(
        self, draws: Array, scores: Array | None, chain: int | None
    ) -> tuple[Sample, range]:
        """The draws of all these chains as one sample, and the numbers of the chains."""
        if scores is None and self._score is None:
            raise InputError("`scores` must be given, as the monitor has no score function")
        count = self._plan.chains
        if chain is not None and (not is_integer(chain, least=0) or chain >= count):
            raise InputError(f"`chain` must be an integer from 0 to {count - 1}; got {chain!r}")
        numbers = range(count) if chain is None else range(int(chain), int(chain) + 1)
        x = _of_chains(draws, "draws", len(numbers))
        if x.ndim != 3 or x.shape[0] != len(numbers):
            expected = "(n, d)" if len(numbers) == 1 else f"({len(numbers)}, n, d)"
            remedy = " A single draw is `draw[None]`." if x.ndim == 1 else ""
            given = "" if len(numbers) == 1 else " Draws of one chain need `chain=`."
            raise InputError(
                f"`draws` must have the shape {expected}; got {tuple(x.shape)}.{remedy or given}"
            )
        if 0 in x.shape:
            raise InputError(f"`draws` must not be empty; got the shape {tuple(x.shape)}")
        if scores is None:
            # Chains after one another are validated together; no draw of one alone looks odd.
            return Sample(_one_chain(x), self._score), numbers
        s = _of_chains(scores, "scores", len(numbers))
        if tuple(s.shape) != tuple(x.shape):
            raise InputError(
                f"`scores` must have the shape of `draws`, {tuple(x.shape)}; got {tuple(s.shape)}"
            )
        require_same_labels(draws, scores)
        return Sample(_one_chain(x), _one_chain(s)), numbers

    def state_dict(self) -> dict[str, Any]:
        """All that the monitor needs to go on after a restart, but for the score function.

        It is a copy of bounded size, to be stored with `pickle`.
        """
        kept = (self._plan, self._moments, self._watch)
        plan, moments, watch = deepcopy(kept)
        return {"version": _VERSION, "plan": plan, "moments": moments, "watch": watch}

    @classmethod
    def load(cls, state: Mapping[str, Any], score: ScoreFunction | None = None) -> Self:
        """A monitor that goes on from a stored state."""
        _require_state(state)
        kept = deepcopy((state["plan"], state["moments"], state["watch"]))
        monitor = cls.__new__(cls)
        monitor._score = _validated_score(score)
        monitor._plan, monitor._moments, monitor._watch = kept
        return monitor

    def __repr__(self) -> str:
        if isinstance(self._plan, Plan):
            looks = f"{len(self.looks)} of {len(self._plan.looks)} looks"
        else:
            looks = f"batches of {self._plan.batch}"
        alarm = ", alarm" if self.alarm else ""
        return f"Monitor({min(self.n_draws)} draws, {looks}{alarm})"


def _validated_score(score: ScoreFunction | None) -> ScoreFunction | None:
    if score is not None and not callable(score):
        raise InputError(
            "`score` must be a function from (n, d) draws to their scores, or None if `update` "
            f"is given the scores; got {type(score).__name__}"
        )
    return score


def _require_state(state: Mapping[str, Any]) -> None:
    """A state of this version, with all its parts."""
    expected = f"`state` must be what `state_dict()` gave, of version {_VERSION}"
    if not isinstance(state, Mapping):
        raise InputError(f"{expected}; got a {type(state).__name__}")
    if "version" not in state:
        raise InputError(f"{expected}; got a {type(state).__name__} without a version")
    if state["version"] != _VERSION:
        raise InputError(
            f"{expected}; got the version {state['version']!r}. Load it with the version of "
            "polystein that stored it, or start a new monitor."
        )
    for name, kind in _PARTS.items():
        if name not in state or not isinstance(state[name], kind):
            got = type(state[name]).__name__ if name in state else "nothing"
            raise InputError(f"{expected}; got {got} for its {name!r}")


def _of_chains(array: Array, argument: str, chains: int) -> Array:
    """An array of shape (chain, n, d), if one of (n, d) belongs to a single chain."""
    array = validated_array(array, argument)
    return array[None, ...] if array.ndim == 2 and chains == 1 else array


def _one_chain(array: Array) -> Array:
    """The rows of all chains after one another."""
    return as_rows(array)[None, ...]
