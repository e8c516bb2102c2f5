"""A user's documents: read by their formats, and cut into passages."""
