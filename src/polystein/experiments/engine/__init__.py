"""Runs any study: cells of replicates, spread over processes, stored as they are finished."""
