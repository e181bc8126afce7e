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
    """Base class of every error that polystein raises on purpose."""

    def __init__(self, message: object = "") -> None:
        super().__init__(printable(str(message)))


class InputError(PolysteinError, ValueError):
    """An argument is not what was expected; the message is one line.

    A line break in the name of a file is written out: what follows it would pass for a message of
    its own. The indented lines of an array or of another library's message are joined.
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(re.sub(r"\n\s+", " ", str(message)).replace("\n", "\\n"))


class DegenerateError(PolysteinError, ArithmeticError):
    """The data have no variance, so that no verdict can be given."""


class ScaleError(PolysteinError, OverflowError):
    """The answer, in the coordinates given, does not fit a float64."""


class MissingExtraError(PolysteinError, ImportError):
    """An optional dependency is not installed, or fails when it is imported."""


class ClusterError(PolysteinError, RuntimeError):
    """A process that worked on rows was lost, or more of a cluster than its scheduler allows."""


class FaultError(PolysteinError, AssertionError):
    """A sampler does not draw from its target, or a kernel does not keep it.

    ``result`` is the `polystein.testing.SamplerTest`.
    """

    def __init__(self, message: object = "", result: object = None) -> None:
        super().__init__(message)
        self.result = result


class UndecidedError(PolysteinError, RuntimeError):
    """A test of a sampler found no fault, and would not have noticed those it was to notice.

    ``result`` is the `polystein.testing.SamplerTest`; its ``needed`` says how many draws it takes.
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
    """

    def __init__(self, message: object = "", *, subject: str = "") -> None:
        super().__init__(printable(str(message)))
        self.subject = subject


class DependenceWarning(PolysteinWarning):
    """Rows depend on each other in a way that the method does not expect.

    A method for independent draws was given time-ordered chains, or the rows of what was given as
    chains do not seem to be in time order.
    """


class LowESSWarning(PolysteinWarning):
    """Too few effective test draws for the p-value's reference distribution."""


class HeavyTailWarning(PolysteinWarning):
    """The test column may have no finite variance."""


class ScoreWarning(PolysteinWarning):
    """The scores look as if they did not belong to the draws, or have lost digits."""


class PolysteinDeprecationWarning(PolysteinWarning, FutureWarning):
    """A name or an option goes in a later version, which the message states.

    Python shows it by default, unlike a ``DeprecationWarning``.
    """
