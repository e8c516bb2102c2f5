"""Rows to samples: which column is which field, and what its values mean."""
