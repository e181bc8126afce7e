"""The guard, which asks whether draws and scores are what they are taken for.

`chains` looks at axes and at chains that are stuck, `repeats` at rows that repeat others,
`interleaved` at walkers that take turns in one chain, `rows` at weights and single draws,
`pairing` at whether scores belong to the draws beside them, `minibatches` at whether rows share
their batches, and `scores` at their values. Shapes, dtypes and finite values are checked before,
where draws come in (`data/sample`, `data/source`).
"""
