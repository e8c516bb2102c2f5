"""Verdicts over a whole scenario. A module of this folder that defines GATES adds a gate."""
