"""The paper's experiments, the published figures, and the comparison of the two."""
