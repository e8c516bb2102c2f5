"""The support table of a sample, and how a judge fills it; metrics of three families read it."""
