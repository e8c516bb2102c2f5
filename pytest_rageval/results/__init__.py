"""Saved runs: the layout of ``results.json``, and its readers."""
