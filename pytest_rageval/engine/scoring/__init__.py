"""Scoring samples: asking the target and the judge, and what they replied, to scores."""
