"""What `refine` is worth, for ``docs/refine.md``.

Each study has its table beside the code:

- ``level``: right draws of six laws, with gradients and without; how often are they rejected?
- ``faults``: one fault in one place, a wrong balance of modes, a slab that the draws missed;
- ``fits``: Gaussian approximations of hierarchical posteriors, against long references.
"""

#: Choices were made on other draws.
SEED = 20_271
