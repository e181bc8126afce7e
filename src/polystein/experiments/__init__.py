"""The paper's experiments and the demonstration: what is sampled and what is run."""
