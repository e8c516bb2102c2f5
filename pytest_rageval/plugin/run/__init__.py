"""Running the items, in one process or many, and keeping their results."""
