"""Pure functions on text: normalising it and splitting it into tokens."""
