"""Verdicts: what counts as judged, and which gates pass."""
