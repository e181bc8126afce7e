"""What `refine` is worth, for ``docs/refine.md``.

Each study has its table beside the code:

- ``level``: right draws of several laws; how often are they rejected?
- ``faults``: one fault in one place, a wrong balance of modes, a slab that the draws missed;
- ``right``: right draws of hierarchical posteriors; are they left alone, and found within?
- ``fits``: Gaussian approximations of hierarchical posteriors, against long references.

Lines name the commit of their code; ``docs/refine.md`` says which tables are older than the code.
A cell that has no line has not been run.
"""

#: Choices were made on other draws.
SEED = 20_271
