"""Saved runs: ``results.json``, its layout and readers, and ``draws.json``, drawn for labels."""
