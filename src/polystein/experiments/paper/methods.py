"""The tests that the experiments compare, by the names of the published figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polystein.data.sample import Sample
from polystein.experiments.engine.cells import Replicate, Row, number
from polystein.experiments.engine.summary import markdown_table
from polystein.methods.gof import lambda_psd_test, psd_test
from polystein.results.result import GofResult
from polystein.weights.rules import CrossEntropy

LEVEL = 0.05
#: The paper's bootstrap: B simulated statistics.
N_BOOTSTRAP = 500
N_FEATURES = 10
ORDERS = range(5)

#: What the methods are called in figures and tables, in the order of the verdict.
LABELS = {
    "psd": "PSD",
    "lambda_psd": "λ-PSD, as printed",
    "lambda_psd_published": "λ-PSD, published settings",
    "ksd_imq": "IMQ KSD",
    "ksd_gauss": "Gauss KSD",
    "fssd_opt": "FSSD-opt",
    "rfsd_published": "RFSD (published calibration)",
    "rfsd": "RFSD (wild bootstrap)",
}
_PUBLISHED_AS = {"lambda_psd_published": "lambda_psd", "rfsd_published": "rfsd"}
#: The weights of lambda-PSD: what the paper says, and what its figures were made with.
_WEIGHTS = {"lambda_psd": CrossEntropy(), "lambda_psd_published": CrossEntropy.published()}


def published_as(method: str) -> str:
    """Return what the published tables call a method."""
    return _PUBLISHED_AS.get(method, method)


@dataclass(frozen=True)
class Method:
    """A test with the paper's settings; `order` is None for one without an order."""

    name: str
    order: int | None = None

    @property
    def label(self) -> str:
        """The name to show."""
        label = LABELS[self.name]
        return label if self.order is None else f"{label} (Q={self.order})"

    def level(self, dimension: int) -> float:
        """The level that a p-value is held against: 0.05 in every dimension."""
        return LEVEL

    def test(self, sample: Sample, replicate: Replicate) -> GofResult:
        """Run the test on one replicate's draws.

        PSD and lambda-PSD of every order share their test rows; every other test
        has a stream of its own.
        """
        if self.order is None:
            return self._rival(sample, replicate)
        rng = replicate.stream("split")
        if self.name == "psd":
            return psd_test(sample, order=self.order, rng=rng)
        return lambda_psd_test(sample, order=self.order, weights=_WEIGHTS[self.name], rng=rng)

    def _rival(self, sample: Sample, replicate: Replicate) -> GofResult:
        from polystein import rivals

        rng = replicate.stream(self.name)
        if self.name == "ksd_imq":
            kernel = rivals.IMQKernel(c=1.0, beta=-0.5)
            return rivals.ksd_test(sample, kernel=kernel, n_bootstrap=N_BOOTSTRAP, rng=rng)
        if self.name == "ksd_gauss":
            median = rivals.GaussianKernel(bandwidth="median")
            return rivals.ksd_test(sample, kernel=median, n_bootstrap=N_BOOTSTRAP, rng=rng)
        if self.name == "fssd_opt":
            return rivals.fssd_test(sample, rng=rng)
        return rivals.rfsd_test(sample, n_features=N_FEATURES, rng=rng)


@dataclass(frozen=True)
class PublishedRFSD(Method):
    """RFSD as the published runs tuned it, anew for each experiment.

    Parameters
    ----------
    medians, degrees_of_freedom : float
        As for `polystein.rfsd_test`.
    fixed_level : float, optional
        The level in every dimension; by default it falls with the dimension d as
        0.05/(0.8 + 0.2 d).

    Examples
    --------
    >>> [round(PublishedRFSD().level(dimension), 4) for dimension in (1, 2, 128)]
    [0.05, 0.0417, 0.0019]
    """

    name: str = "rfsd_published"
    medians: float = 4.0
    degrees_of_freedom: float = 0.5
    fixed_level: float | None = None

    def level(self, dimension: int) -> float:
        """The published level, lower than the 0.05 that it stands for."""
        return self.fixed_level or LEVEL / (0.8 + 0.2 * dimension)

    def _rival(self, sample: Sample, replicate: Replicate) -> GofResult:
        from polystein import rivals

        return rivals.rfsd_test(
            sample,
            n_features=N_FEATURES,
            calibration="published",
            medians=self.medians,
            degrees_of_freedom=self.degrees_of_freedom,
            rng=replicate.stream(self.name),
        )


RIVALS = (
    *(Method(name) for name in ("ksd_imq", "ksd_gauss", "fssd_opt")),
    PublishedRFSD(),
    Method("rfsd"),
)


def z_tests(orders: Sequence[int]) -> tuple[Method, ...]:
    """PSD, and lambda-PSD with both sets of weights, of these orders."""
    return tuple(Method(name, order) for order in orders for name in ("psd", *_WEIGHTS))


Z_TESTS = z_tests(ORDERS)
ALL_METHODS = (*Z_TESTS, *RIVALS)


def judge(sample: Sample, methods: Sequence[Method], replicate: Replicate) -> list[Row]:
    """One row for each method's decision on the same draws."""
    rows: list[Row] = []
    for method in methods:
        result = method.test(sample, replicate)
        level = method.level(sample.layout.dimension)
        rows.append(
            {
                "method": method.name,
                "order": method.order,
                "rejected": int(result.rejected(level)),
                "z": None if method.order is None else result.statistic,
            }
        )
    return rows


def size_table(null: Sequence[Row], methods: Sequence[Method], known: Mapping[int, float]) -> str:
    """Markdown: a line for each dimension, level and measured size for each RFSD of `methods`.

    Parameters
    ----------
    null : sequence of dict
        Rows of the summary in which the sampler is the target.
    methods : sequence of Method
        Those that are not RFSD are left out.
    known : dict
        The published size in each dimension.
    """
    compared = [method for method in methods if published_as(method.name) == "rfsd"]
    heads, rows = ["d", "Size published"], []
    for method in compared:
        heads += [f"{method.label}: level claimed", "Size measured"]
    for dimension in sorted({int(number(row, "d")) for row in null}):
        there = {row["method"]: row for row in null if row["d"] == dimension}
        line = [str(dimension), f"{known[dimension]:.2f}"]
        for method in compared:
            row = there[method.name]
            rejections, of = int(number(row, "rejections")), int(number(row, "replicates"))
            line.append(f"{method.level(dimension):.4f}")
            line.append(f"{rejections / of:.3f} ({rejections} of {of})")
        rows.append(line)
    words = "How often RFSD rejects draws from the target, beside the level that it claims:"
    return "\n".join([words, "", *markdown_table(heads, rows)])
