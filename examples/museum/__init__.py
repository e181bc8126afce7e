"""A museum of sampler bugs: `python -m examples.museum`."""
