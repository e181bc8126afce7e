"""`check` on the chains people have, for ``docs/chains_beyond.md``.

Each line is one kind of chain, a target and a number of replicates; each part is one table beside
the code:

- ``correct``: correct chains of many kinds of memory, and how often each is rejected;
- ``wrong``: chains with a fault that is known, and how often each is found;
- ``independent``: independent draws, and how often p-values are very small;
- ``power``: two faults of autoregressive chains, paired with an earlier commit;
- ``axes``: draws handed over in another order of axes;
- ``harder``: further correct draws, that were rejected or not judged too often.

``true_ess.csv`` holds the least true number of effective draws of each correct line.
"""

#: No choice about `check` was made on draws of this seed.
SEED = 121_269
#: Replicates that are drawn together, with one seed for all of them. The draws depend on it.
GROUP = 25
PARTS = ("correct", "wrong", "independent", "power", "axes", "harder")
