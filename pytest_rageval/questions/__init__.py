"""Questions made from a user's documents: each is checked, and those refused are kept apart."""
