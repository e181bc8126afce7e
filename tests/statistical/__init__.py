"""Size and power, judged by exact tests over many replicates with fixed seeds."""
