"""The exceptions and warnings of polystein.

Everything raised on purpose derives from `PolysteinError`, everything warned
about from `PolysteinWarning`::

    PolysteinError
    ├── InputError (also a ValueError)         an argument is not what was expected
    ├── DegenerateError (also ArithmeticError) the data have no variance
    ├── ScaleError (also OverflowError)        the answer does not fit a float64
    ├── MissingExtraError (also ImportError)   an optional dependency is missing or broken
    ├── ClusterError (also a RuntimeError)     workers of a cluster were lost
    ├── FaultError (also an AssertionError)    a sampler or kernel does not fit its target
    ├── UndecidedError (also a RuntimeError)   a test of a sampler had too few draws to tell
    └── StudyError (also a RuntimeError)       a study could not be finished
        └── TaskError                          the task of a study raised an error

    PolysteinWarning (also a UserWarning)
    ├── DependenceWarning                      rows depend on each other in an unexpected way
    ├── LowESSWarning                          too few effective draws for the p-value
    ├── HeavyTailWarning                       the test column may have no finite variance
    ├── ScoreWarning                           the scores look like those of something else
    └── PolysteinDeprecationWarning            a name or an option goes in a later version

Messages name the argument, say what was expected and what was given, and suggest a
remedy if there is one. Names of files and parameters in them come from others: characters
that would steer a terminal are written out.
"""

import re


def printable(text: str) -> str:
    r"""The text with all characters but line breaks that are not printed written out.

    Among them are those that steer a terminal or turn the direction of writing.

    Examples
    --------
    >>> print(printable("\x1b[31mred"))
    \x1b[31mred
    """
    return "".join(
        one if one.isprintable() or one == "\n" else one.encode("unicode_escape").decode("ascii")
        for one in text
    )


class PolysteinError(Exception):
    """Base class of every error that polystein raises on purpose.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> def verdict(draws, scores):
    ...     try:
    ...         return ps.check(draws, scores).verdict
    ...     except ps.PolysteinError as error:
    ...         return f"{type(error).__name__}: {error}"
    >>> draws = np.random.default_rng(0).standard_normal((100, 2))
    >>> verdict(draws, -draws[:50])
    'InputError: `scores` must have the shape of `draws`, (100, 2); got (50, 2).'
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(printable(str(message)))


class InputError(PolysteinError, ValueError):
    """An argument is not what was expected; the message is one line.

    A line break in the name of a file is written out: what follows it would pass for a message of
    its own. The indented lines of an array or of another library's message are joined.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((100, 2))
    >>> ps.psd(draws, -draws, order=-1)
    Traceback (most recent call last):
        ...
    polystein.errors.InputError: `order` must be an integer >= 0; got -1
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(re.sub(r"\n\s+", " ", str(message)).replace("\n", "\\n"))


class DegenerateError(PolysteinError, ArithmeticError):
    """The data have no variance, so that no verdict can be given.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> chains = np.random.default_rng(0).standard_normal((4, 100, 2))
    >>> chains[..., 1] = 1.0  # the sampler never moved it
    >>> ps.check(chains, lambda x: -x)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    polystein.errors.DegenerateError: `draws` must vary in every coordinate ...; coordinate 1 is
    constant over the training rows (1 of 2 are)
    """


class ScaleError(PolysteinError, OverflowError):
    """The answer, in the coordinates given, does not fit a float64.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = 1e160 * np.random.default_rng(0).standard_normal((100, 2))
    >>> ps.psd(draws, lambda x: -x, order=2)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    polystein.errors.ScaleError: a Stein moment overflows in the coordinates of `draws`; ...
    """


class MissingExtraError(PolysteinError, ImportError):
    """An optional dependency is not installed, or fails when it is imported.

    Examples
    --------
    >>> from unittest.mock import patch
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((100, 2))
    >>> with patch.dict("sys.modules", {"torch": None}):  # as if PyTorch were not installed
    ...     ps.from_torch(lambda x: -0.5 * x @ x, draws)
    Traceback (most recent call last):
        ...
    polystein.errors.MissingExtraError: this adapter needs torch: pip install 'polystein[torch]'
    """


class ClusterError(PolysteinError, RuntimeError):
    """A process that worked on rows was lost, or more of a cluster than its scheduler allows.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> def check_in_any_case(draws, score, n_jobs):
    ...     try:
    ...         return ps.check(draws, score, n_jobs=n_jobs)
    ...     except ps.ClusterError:  # memory is the usual cause: one process needs the least
    ...         return ps.check(draws, score)
    >>> draws = np.random.default_rng(0).standard_normal((4, 500, 2))
    >>> check_in_any_case(draws, lambda x: -x, n_jobs=2).verdict
    'not rejected'
    """


class FaultError(PolysteinError, AssertionError):
    """A sampler does not draw from its target, or a kernel does not keep it.

    ``result`` is the `polystein.testing.SamplerTest`.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> def sampler(seed, n):  # its sd is 0.9
    ...     return np.random.default_rng(seed).normal(0.0, 0.9, (n, 1))
    >>> ps.testing.assert_draws_from(sampler, lambda x: -x)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    polystein.errors.FaultError: The draws are not from the target (p = ..., 11,700 draws).
      the sd of `x[0]` is off by -15 %, standard error 0.0085, p = ...
    >>> try:
    ...     ps.testing.assert_draws_from(sampler, lambda x: -x)
    ... except ps.FaultError as error:
    ...     print(error.result.effects[0].name, error.result.effects[0].kind)
    x[0] sd
    """

    def __init__(self, message: object = "", result: object = None) -> None:
        super().__init__(message)
        self.result = result


class UndecidedError(PolysteinError, RuntimeError):
    """A test of a sampler found no fault, and would not have noticed those it was to notice.

    ``result`` is the `polystein.testing.SamplerTest`; its ``needed`` says how many draws it takes.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> def sampler(seed, n):
    ...     return np.random.default_rng(seed).standard_normal((n, 1))
    >>> try:
    ...     ps.testing.assert_draws_from(sampler, lambda x: -x, detect=(0.01, 0.01), budget=20_000)
    ... except ps.UndecidedError as error:
    ...     print(error.result.needed > 20_000)
    ...     print(error)  # doctest: +ELLIPSIS
    True
    No fault was found, and smaller ones than asked for may be there (...).
    ...
    """

    def __init__(self, message: object = "", result: object = None) -> None:
        super().__init__(message)
        self.result = result


class StudyError(PolysteinError, RuntimeError):
    """A study could not be finished; its finished cells are kept."""


class TaskError(StudyError):
    """The task raised an error in some cells; the others are finished and kept."""


class PolysteinWarning(UserWarning):
    """Base class of every warning that polystein emits.

    Two warnings of one class and one ``subject`` say the same thing, with other numbers. Without
    a subject the message tells them apart.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((1000, 2))
    >>> with warnings.catch_warnings(action="ignore", category=ps.PolysteinWarning):
    ...     result = ps.check(draws, lambda x: x)  # the sign of the scores is wrong
    >>> print(result.warnings[0])  # doctest: +ELLIPSIS
    `scores` look as if their sign were wrong: ...
    """

    def __init__(self, message: object = "", *, subject: str = "") -> None:
        super().__init__(printable(str(message)))
        self.subject = subject


class DependenceWarning(PolysteinWarning):
    """Rows depend on each other in a way that the method does not expect.

    A method for independent draws was given time-ordered chains, or the rows of what was given as
    chains do not seem to be in time order.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import polystein as ps
    >>> chains = np.random.default_rng(0).standard_normal((4, 500, 2))
    >>> with warnings.catch_warnings(action="error", category=ps.DependenceWarning):
    ...     ps.fssd_test(chains, lambda x: -x, rng=0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    polystein.errors.DependenceWarning: `draws` are 4 time-ordered chains, but `fssd_test` holds ...
    """


class LowESSWarning(PolysteinWarning):
    """Too few effective test draws for the p-value's reference distribution.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import polystein as ps
    >>> few = np.random.default_rng(0).standard_normal((40, 2))
    >>> with warnings.catch_warnings(action="error", category=ps.LowESSWarning):
    ...     ps.psd_test(few, lambda x: -x, order=1, rng=0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    polystein.errors.LowESSWarning: the p-value rests on ... effective test draws; ...
    """


class HeavyTailWarning(PolysteinWarning):
    """The test column may have no finite variance.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_cauchy((1000, 1))
    >>> with warnings.catch_warnings(action="error", category=ps.HeavyTailWarning):
    ...     ps.psd_test(draws, lambda x: -2 * x / (1 + x**2), order=3, rng=0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    polystein.errors.HeavyTailWarning: the test column u has a heavy tail (Pareto index ...): ...
    """


class ScoreWarning(PolysteinWarning):
    """The scores look as if they did not belong to the draws, or have lost digits.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((1000, 2))
    >>> with warnings.catch_warnings(action="error", category=ps.ScoreWarning):
    ...     ps.check(draws, lambda x: x)  # the gradient of a loss  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    polystein.errors.ScoreWarning: `scores` look as if their sign were wrong: ...
    """


class PolysteinDeprecationWarning(PolysteinWarning, FutureWarning):
    """A name or an option goes in a later version, which the message states.

    Python shows it by default, unlike a ``DeprecationWarning``.

    Examples
    --------
    >>> import warnings
    >>> import polystein as ps
    >>> from polystein._lib.deprecation import deprecated
    >>> @deprecated("polystein.old", since="0.2", removed_in="0.4", instead="polystein.new")
    ... def old():
    ...     return 1
    >>> with warnings.catch_warnings(action="error", category=ps.PolysteinDeprecationWarning):
    ...     old()
    Traceback (most recent call last):
        ...
    polystein.errors.PolysteinDeprecationWarning: `polystein.old` is deprecated since polystein 0.2
    and is removed in 0.4: use `polystein.new` instead
    """
