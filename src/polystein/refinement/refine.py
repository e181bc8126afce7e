"""A second opinion from the target itself: move the draws, and compare before and after."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from polystein._lib.arguments import integer, require_progress
from polystein._lib.notes import shown_name
from polystein._lib.random import seed_sequence, seed_setting
from polystein._lib.threads import one_blas_thread
from polystein.data.foreign import type_name
from polystein.data.guard.target import require_sound_target
from polystein.data.sample import Sample, as_source, validated_array
from polystein.data.source import Source, complete, coordinate_names, is_source
from polystein.data.target import Target
from polystein.errors import InputError
from polystein.refinement.differences import (
    Functions,
    RowFunction,
    functions_by,
    judged_by_flips,
    own_values,
    parameters,
    shown_parameters,
)
from polystein.refinement.effects import ROUNDING, effect_table, paired
from polystein.refinement.kernels import Evaluations, Kernel, Moves, State
from polystein.refinement.pilots import piloted
from polystein.refinement.rows import chosen_rows
from polystein.refinement.settled import EDGE_TIMES, NO_EDGES, Edges, Settled, edges_of, settled
from polystein.refinement.within import checked, judged_tolerance
from polystein.results.coded import CodedText
from polystein.results.refinement import MovedRows, Refinement
from polystein.types import RNG, Array, FloatArray, Progress, ScoreFunction

#: More transitions than this are a sampler's work.
_MOST_TRANSITIONS = 10_000
#: A transition without gradients is this many Metropolis steps, or one for each coordinate.
_FEWEST_STEPS = 8
#: With fewer batches than this a large p-value says little.
_FEWEST_BATCHES = 20
#: Rows of the last quarter of the runs that sizes are computed by, at this many times.
_LATE_TIMES = 5
#: Below this mean chance of acceptance the runs say little.
_HARDLY_ACCEPTED = 0.1
#: Above this rank correlation between middle and end a coordinate has hardly moved.
_HARDLY_MOVED = 0.9


def refine(
    draws: Array | Source,
    /,
    *,
    model: object = None,
    log_density: Callable[[FloatArray], Array] | None = None,
    scores: ScoreFunction | None = None,
    functions: Mapping[str, RowFunction] | None = None,
    transitions: int = 20,
    starts: int = 1000,
    tolerance: float | None = None,
    rng: RNG = 0,
    progress: Progress | None = None,
) -> Refinement:
    """Move draws by steps that leave the target invariant, and compare before and after.

    Draws that come from the target stay right, and others come closer to it. What changes is
    therefore wrong with the draws, and what they become is better.

    Parameters
    ----------
    draws : array, Sample, or ArviZ data with a model
        Of shape (n, d) or (chain, draw, d), on the unconstrained scale. A `Sample` from an adapter
        knows its ``target``.
    model : pymc.Model or bambi.Model, optional
        The model whose draws are given as ArviZ data.
    log_density : callable, optional
        The log-density, up to a constant, of (n, d) draws, where no target is known.
    scores : callable, optional
        Its gradient. Without it the steps are Metropolis steps, of which it takes more.
    functions : mapping, optional
        Functions of (n, d) draws, by name, that are compared as well.
    transitions : int
        Transitions of every start to begin with, of eight leapfrog steps each. They are doubled,
        at most three times, while the pilots have not settled.
    starts : int
        At most this many draws of all chains are moved and compared. Sizes take at least 225.
    tolerance : float, optional
        As for `check`: ``tolerance`` then says whether all means are within this many sds of the
        target, and all sds within this part.
    rng : int, SeedSequence, Generator or None
        The default, 0, gives the same result for the same draws.
    progress : callable, optional
        Called as ``progress(done, total)`` after each transition of the starts.

    Returns
    -------
    Refinement
        ``pvalue``, ``verdict``, ``effects`` and ``draws``, the moved rows as a `Sample`.

    Notes
    -----
    The kernel P of a step is a mixture of reversible kernels, so that (x_0, x_k) and (x_k, x_0)
    have one law if the draws are right. Differences f(x_0) - f(x_k) are then symmetric about 0 for
    any f, and flipping their signs gives an exact level for independent draws. On chains batches
    of starts are flipped, and the level holds for long chains.

    All that has to be tuned is tuned by pilots, draws that are no starts. Effects have sizes where
    the runs have settled: after few transitions a single expectation may be farther off than
    before. Fewer than 225 starts cannot tell. A mode that neither draws nor pilots found stays
    unseen.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((2000, 2)) * [1.0, 0.7]
    >>> def log_density(x):  # the target is N(0, I)
    ...     return -0.5 * np.sum(x**2, axis=1)
    >>> refined = ps.refine(draws, log_density=log_density, scores=lambda x: -x)
    >>> refined.verdict
    'rejected'
    >>> print(refined.effects.rows[0].sentence)  # doctest: +ELLIPSIS
    the sd of `x[1]` is ... % too small (...)
    """
    bound = checked(tolerance)
    wanted, most = integer(transitions, "transitions", least=2), integer(starts, "starts", least=20)
    if wanted > _MOST_TRANSITIONS:
        raise InputError(
            f"`transitions` must be at most {_MOST_TRANSITIONS:,}; got {transitions!r}"
        )
    require_progress(progress)
    own = _checked_functions(functions)
    source, target = _door(draws, model, log_density, scores)
    tuning, moving, flipping = map(np.random.default_rng, seed_sequence(rng).spawn(3))
    with one_blas_thread():
        chosen = chosen_rows(source, most)
        evaluate = Evaluations(target)
        pilots, start = (_begun(evaluate, rows) for rows in (chosen.pilots, chosen.starts))
        require_sound_target(target, chosen.pilots, tuning)
        names = coordinate_names(source)
        shown = shown_parameters(target, names, chosen.pilots)
        _require_own_names(own, (*names, *shown.values()))
        own_values(own, chosen.pilots)  # what fails should fail before the runs
        steps = 1 if target.has_score else max(_FEWEST_STEPS, target.dimension)
        found = piloted(evaluate, pilots, wanted * steps, tuning)
        ends = _run(found.kernel, start, found.steps, moving, progress)
        compared = functions_by(target, names, chosen.pilots, found.pilots.position, shown, own)
        judged = judged_by_flips(
            compared.values(start), compared.values(ends.state), chosen.batches, flipping
        )
        state = settled(
            ends.middle,
            ends.state.position,
            ends.moves,
            trajectories=target.has_score,
            edges=ends.edges,
        )
        columns, before, after = _columns(compared, start, ends)
        table = effect_table(
            columns, paired(before, after, chosen.batches), judged.pvalue, state.all
        )
    acceptance = float(np.mean(np.concatenate([m.chance[m.kind == 0] for m in ends.moves])))
    spare = source.layout.total - len(pilots.density) - len(start.density)
    more = "`starts`" if spare > 0 else "draws"
    verdict, why = judged_tolerance(table, bound, state, names, more)
    return Refinement(
        pvalue=judged.pvalue,
        statistic=judged.statistic if state.all else abs(judged.statistic),
        leading=judged.words,
        effects=table,
        settled=state.all,
        still_moving=_still_moving(state, names),
        tolerance=verdict,
        tolerance_reason=why,
        kernel="HMC" if target.has_score else "Metropolis",
        acceptance=acceptance,
        gradients=evaluate.count,
        transitions=found.steps // steps,
        starts=len(start.density),
        pilots=len(pilots.density),
        groups=len(found.kernel.centres),
        dimension=target.dimension,
        reasons=_reasons(acceptance, state, len(chosen.batches), names),
        settings={
            "transitions": wanted,
            "starts": most,
            "tolerance": bound,
            "rng": seed_setting(rng),
        },
        warnings=source.facts.warnings,
        moved=MovedRows(
            ends.state.position,
            ends.state.score if target.has_score else None,
            source.names,
            target,
        ),
    )


def _checked_functions(functions: object) -> dict[str, RowFunction]:
    if functions is None:
        return {}
    if not isinstance(functions, Mapping) or not all(
        isinstance(name, str) and callable(function) for name, function in functions.items()
    ):
        raise InputError(
            f"`functions` must be a mapping from names to functions of (n, d) draws; got "
            f"{functions!r}"
        )
    return {shown_name(name): function for name, function in functions.items()}


def _require_own_names(own: Mapping[str, RowFunction], taken: tuple[str, ...]) -> None:
    for name in own:
        if name in taken:
            raise InputError(
                f"`functions` must have names of their own; got {name!r}, which is a coordinate or "
                "a parameter of the model"
            )


def _door(
    draws: Array | Source, model: object, log_density: object, scores: object
) -> tuple[Source, Target]:
    """The draws as a source, and the target: that of the draws, or the one that is given."""
    if log_density is None:
        if scores is not None:
            raise InputError(
                "`log_density` must be given with `scores`: steps are accepted by the log-density"
            )
        if hasattr(draws, "shape") and not is_source(draws):
            raise InputError(
                f"`log_density` must be given with a {type_name(draws)}, which has no target; got "
                "None. An adapter such as `ps.from_jax` gives draws with their target"
            )
        source = as_source(draws, None, model)
        target = source.facts.target
        if target is None or target.density is None:
            raise InputError(
                "`draws` must know their target, or `log_density` must be given; got "
                f"{source!r} without. `ps.from_pymc`, `from_numpyro`, `from_jax`, `from_torch`, "
                "`from_bridgestan` and `from_scipy` keep the target, unless coordinates were "
                "left out or the sample was pickled"
            )
        return _unweighted(source), target
    for name, function in (("log_density", log_density), ("scores", scores)):
        if function is not None and not callable(function):
            raise InputError(
                f"`{name}` must be a function of (n, d) draws; got a {type_name(function)}"
            )
    if model is not None:
        raise InputError("`log_density` must not be given with `model`, which gives it")
    if is_source(draws):
        source = complete(draws)
    else:
        array = validated_array(draws, "draws")
        source = Sample(array, np.broadcast_to(0.0, array.shape))  # scores that nothing reads
    known = source.facts.target
    return _unweighted(source), Target.of_functions(
        source.layout.dimension,
        log_density,  # type: ignore[arg-type]
        scores,  # type: ignore[arg-type]
        source.names,
        None if known is None else known.transform,
    )


def _unweighted(source: Source) -> Source:
    if source.weighted:
        raise InputError(
            "`log_weights` must be None for `refine`, whose starts count alike; got weighted "
            "draws. Resample them by their weights first"
        )
    return source


def _begun(evaluate: Evaluations, rows: FloatArray) -> State:
    """The states of rows, whose log-density has to be finite."""
    state = evaluate(rows, rows)
    outside = ~np.isfinite(state.density)
    if outside.any():
        value = evaluate.target.log_density(rows[outside][:1])[0]
        raise InputError(
            "`log_density` and its gradient must be finite at the draws; got "
            f"{value} at {int(outside.sum())} of {len(rows)} draws looked at. Such draws do not "
            "come from this target: are they on the unconstrained scale, in the right order?"
        )
    return state


class _Ends(NamedTuple):
    """Rows in the middle of the runs, at several late times and at the end, and all proposals."""

    middle: FloatArray
    late: list[State]
    state: State
    moves: list[Moves]
    edges: Edges


def _run(
    kernel: Kernel,
    state: State,
    steps: int,
    rng: np.random.Generator,
    progress: Progress | None,
) -> _Ends:
    times = {steps - 1 - (place * steps) // (4 * _LATE_TIMES) for place in range(_LATE_TIMES)}
    looks = set(np.linspace(steps // 2, steps - 1, EDGE_TIMES).astype(int).tolist())
    middle, late, moves, looked = state.position, [], [], []
    for step in range(steps):
        before = state.position
        state, made = kernel.step_of(state, rng)
        moves.append(made)
        if step in looks:
            looked.append((before, made))
        if step == steps // 2 - 1:
            middle = state.position
        if step in times:
            late.append(state)
        if progress is not None:
            progress(step + 1, steps)
    edges = edges_of(looked, kernel.step) if kernel.evaluate.target.has_score else NO_EDGES
    return _Ends(middle, late, state, moves, edges)


def _columns(
    compared: Functions, start: State, ends: _Ends
) -> tuple[list[str], FloatArray, FloatArray]:
    """What effects are told of: coordinates, the model's own parameters, the user's functions."""

    def beside(state: State) -> dict[str, FloatArray]:
        rows = state.position
        found = parameters(compared.target, compared.shown, rows)
        return found | own_values(compared.own, rows)

    before, after = beside(start), [beside(state) for state in ends.late]
    kept = []
    for name, values in before.items():
        column = np.concatenate([values, *(one[name] for one in after)])
        # One value everywhere, as on the diagonal of a correlation matrix: there is nothing to say.
        with np.errstate(all="ignore"):
            fixed = np.ptp(column) <= ROUNDING * np.abs(column).max()
            if np.isfinite(np.square(column)).all() and (name in compared.own or not fixed):
                kept.append(name)
    first = np.column_stack([start.position, *(before[name] for name in kept)])
    later = [
        np.column_stack([state.position, *(one[name] for name in kept)])
        for state, one in zip(ends.late, after, strict=True)
    ]
    return [*compared.names, *kept], first, np.stack(later)


def _still_moving(state: Settled, names: tuple[str, ...]) -> tuple[str, ...]:
    order = np.argsort(-state.worst)
    moving = [names[place] for place in order if state.moving[place]]
    held = [names[state.edges.place]] if state.held_up else []
    return tuple(dict.fromkeys([*moving, *held]))


def _reasons(
    acceptance: float, state: Settled, batches: int, names: tuple[str, ...]
) -> tuple[CodedText, ...]:
    """Why a large p-value leaves the question open."""
    reasons = []
    if acceptance < _HARDLY_ACCEPTED or state.unmoved > 0.5:
        words = (
            f"the steps are hardly accepted (chance {acceptance:.2g}, {state.unmoved:.0%} "
            "of the draws never moved): the runs say little. Is the log-density smooth, and of "
            "these draws?"
        )
        reasons.append(CodedText(words, "steps-not-accepted"))
    elif state.correlations.max() > _HARDLY_MOVED:
        slowest = names[int(np.argmax(state.correlations))]
        words = (
            f"`{slowest}` hardly moved (rank correlation {state.correlations.max():.2f} between "
            "the middle and the end of the runs): nothing is known about it. Try more `transitions`"
        )
        reasons.append(CodedText(words, "hardly-moved", slowest))
    if batches < _FEWEST_BATCHES:
        words = f"the draws are worth only {batches} independent batches: run the sampler longer"
        reasons.append(CodedText(words, "few-batches"))
    return tuple(reasons)
