"""The parts of `polystein.check`, the one test that needs no tuning.

`check` has four arms that share the level: sign flips of batch sums over all rows, witnesses that
are trained on some rows and judged on others, a comparison of the chains with each other, and a
kernel net under everything. `check.py` is the straight line, in the 15 steps of ``docs/check.md``.
Their parts are read in this order:

- `statistics`: the table of all that is looked at, and the shares of the level;
- `look`: the rows that are kept, and what they tell of every column (step 3);
- `batches` and `sums`: batches of rows, and the sums over them (4, 5);
- `left_out`: how far chains have come, and what is left out for it (6);
- `trained`, with `witnesses` and `cross_fitting` (7); `agreement` (8);
- `flips`, with `forms` (9); `net` (10);
- `verdict`: what leaves the question open (11, 13, 14);
- `noticed`: what such a pass would have noticed, if it is asked for.
"""
