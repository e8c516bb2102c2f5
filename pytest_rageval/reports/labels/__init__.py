"""Answers drawn for people to label: which ones, and the sheet to fill in."""
