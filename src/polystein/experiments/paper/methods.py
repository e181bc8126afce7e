"""The tests that the experiments compare, by the names of the published figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polystein.data.sample import Sample
from polystein.experiments.engine.cells import Replicate, Row
from polystein.methods.gof import lambda_psd_test, psd_test
from polystein.results.result import GofResult

LEVEL = 0.05
#: The paper's bootstrap: B simulated statistics.
N_BOOTSTRAP = 500
N_FEATURES = 10
ORDERS = range(5)

#: What the methods are called in figures and tables.
LABELS = {
    "psd": "PSD",
    "lambda_psd": "λ-PSD",
    "ksd_imq": "IMQ KSD",
    "ksd_gauss": "Gauss KSD",
    "fssd_opt": "FSSD-opt",
    "rfsd": "RFSD",
}


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

    def test(self, sample: Sample, replicate: Replicate) -> GofResult:
        """Run the test on one replicate's draws.

        PSD and lambda-PSD of every order share their test rows; every other test
        has a stream of its own.
        """
        if self.order is not None:
            z_test = psd_test if self.name == "psd" else lambda_psd_test
            return z_test(sample, order=self.order, rng=replicate.stream("split"))
        return self._rival(sample, replicate)

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


RIVALS = tuple(Method(name) for name in ("ksd_imq", "ksd_gauss", "fssd_opt", "rfsd"))


def z_tests(orders: Sequence[int]) -> tuple[Method, ...]:
    """PSD and lambda-PSD of these orders."""
    return tuple(Method(name, order) for order in orders for name in ("psd", "lambda_psd"))


ALL_METHODS = (*z_tests(ORDERS), *RIVALS)


def judge(sample: Sample, methods: Sequence[Method], replicate: Replicate) -> list[Row]:
    """One row for each method's decision on the same draws."""
    rows: list[Row] = []
    for method in methods:
        result = method.test(sample, replicate)
        rows.append(
            {
                "method": method.name,
                "order": method.order,
                "rejected": int(result.rejected(LEVEL)),
                "z": None if method.order is None else result.statistic,
            }
        )
    return rows
