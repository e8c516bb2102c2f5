"""Pure numbers: weighted means, spread, intervals. Nothing here knows pytest, files or metrics."""
