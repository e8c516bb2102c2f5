"""Other processes and machines that compute scores: one module for each scheme of a URL."""
