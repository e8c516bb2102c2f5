"""Proposes the field of each column, by its name and its cells, and says what is not decided."""
