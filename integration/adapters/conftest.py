"""Libraries announce on import what they will change; that is theirs to mend."""

import importlib
import warnings
from importlib.util import find_spec

#: PyMC 6 is tested without JAX.
LIBRARIES = ["arviz", "pymc", "pymc_extras", "nutpie", "bambi", "numpyro.infer", "blackjax"]

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for name in LIBRARIES:
        if find_spec(name.partition(".")[0]) is not None:
            importlib.import_module(name)
