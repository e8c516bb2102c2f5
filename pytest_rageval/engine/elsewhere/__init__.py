"""Scores that are computed elsewhere: cases go to the workers of an executor in packed chunks."""
