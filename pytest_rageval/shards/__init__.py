"""Shards: a run in several CI jobs, and the one verdict over all of them."""
