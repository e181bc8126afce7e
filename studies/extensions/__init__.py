"""What the paper leaves to future work, measured, for ``docs/extensions.md``.

Nine parts at the level 0.05, each with its table beside the code. The target is N(0, I).

- ``resolutions``: one weight for each order, coordinate or entry (Section 4.4);
- ``structures``: diagonal matrices A_i against full ones (Section 3.2);
- ``training``: the fraction of the rows that train;
- ``sides``: one-sided against two-sided tests;
- ``chains``: size on AR(1) chains, as printed and with a variance for chains (the conclusion);
- ``search``: T, M, K and the tolerance of Algorithm 2;
- ``rules``: Algorithm 2 against the closed form of Proposition 4.3, over Q;
- ``methods``: power of PSD and lambda-PSD, to stand beside the time that they take;
- ``runtime``: processor time of all methods of the paper and of Algorithm 2, side by side.
"""

#: A first look, which chose alternatives of middling power, was at other draws.
SEED = 20_268
