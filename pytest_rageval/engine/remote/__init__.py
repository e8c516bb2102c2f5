"""Scores that other processes compute: cases go to the workers of an executor in packed chunks."""
