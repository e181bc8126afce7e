"""Variances, effective sizes and tail indices against `arch` and ArviZ."""

import math
from typing import Any

import numpy as np
import pytest

arch_kernel = pytest.importorskip("arch.covariance.kernel")
