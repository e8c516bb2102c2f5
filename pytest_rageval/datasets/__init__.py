"""Data files to samples."""
