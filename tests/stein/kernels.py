"""Kernels, each with its literal transcription."""

from polystein.stein.kernel import GaussianKernel, IMQKernel, Kernel
from tests.reference import kernels as literal

KERNELS: dict[str, tuple[Kernel, literal.Kernel]] = {
    "imq": (IMQKernel(), literal.imq()),
    "imq-other": (IMQKernel(c=0.7, beta=-0.8), literal.imq(0.7, -0.8)),
    "gaussian": (GaussianKernel(1.3), literal.gaussian(1.3)),
}
