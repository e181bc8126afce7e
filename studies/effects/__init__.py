"""What effects, tolerances and corrected expectations are worth, for ``docs/effects.md``.

Each study has its table beside the code:

- ``planted``: one fault in one place; is it named, and do intervals cover it?
- ``tolerance``: samplers at the border of a tolerance, and one that is off by little;
- ``corrected``: wrong draws of posteriors, before and after the correction, against a reference;
- ``sizes``: Gaussian draws of many targets; are the sizes and corrected values that are told right?
"""

#: Choices were made on other draws.
SEED = 20_267
