"""What the draws get wrong, by how much, and what the target says instead, from scores alone.

Designs say which Stein features explain which functions. Sums over rows come from passes, fits and
influence functions work on them, and estimates have errors and doubts. `expectations` and `effects`
put them together: `effects` takes a quick look first, and allows for multiplicity. Words for what
was found, and hints what to do, come last. The same features test the draws in `methods`.
"""
