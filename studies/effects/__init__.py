"""What effects, tolerances and corrected expectations are worth, for ``docs/effects.md``.

Each study has its table beside the code:

- ``planted``: one fault in one place; is it named, and do intervals cover it?
- ``tolerance``: samplers at the border of a tolerance, and one that is off by little;
- ``corrected``: wrong draws of posteriors, before and after the correction, against a reference.
"""

#: Choices were made on other draws.
SEED = 20_267
