"""From a scenario to its figures, without pytest: plan, score, decide."""
