"""What `check` is worth: its power and its size, for ``docs/check.md``.

Twelve studies at the level 0.05, each with its table beside the code:

- ``paper``: the alternatives of the paper's Experiments 1 and 2, beside the published rates;
- ``beyond``: seven other alternatives, beside lambda-PSD, KSD and KSDAgg on the same draws;
- ``size``: draws from the target;
- ``correlated``: faults along the axes of correlated targets, and missing modes, beside `check` of
  whitened draws, the best single statistic and KSD;
- ``correlated_size``: draws from correlated targets;
- ``posteriors``: three posteriors, with faults that samplers make;
- ``rows_needed``: how many rows six faults take to be found, beside the likelihood-ratio test;
- ``blind_spots``: tied magnitudes, tied signs and fine structure, beside KSD and KSDAgg;
- ``head_to_head``: targets that are not Gaussian, beside KSDAgg and KSD;
- ``memory_and_store``: the same rows in memory and in a file;
- ``seeds``: border cases with several seeds;
- ``noticed``: faults of the size that a pass says it would have noticed.

``choose`` is no study: it chooses how the statistics share the level, on draws of no table.
"""

#: Choices about `check` were made on draws of other seeds.
SEED = 20_266


def milliseconds(rows: int, dimension: int, *, found: bool = False) -> float:
    """Roughly what one `check` takes, for the order of work; it changes no result.

    A `check` that finds a fault goes on with its flips.
    """
    plain = 12.0 + 0.005 * rows + 0.035 * dimension**2
    features = 500 + 8 * dimension + 2 * dimension**2
    return plain + found * 0.04 * features
