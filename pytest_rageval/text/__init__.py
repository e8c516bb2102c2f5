"""Pure functions on text: normalising, tokenising, JSON, and the reading of a judge's reply."""
