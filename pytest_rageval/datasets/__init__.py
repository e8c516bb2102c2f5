"""Data files to samples. A module of this folder that defines READERS adds a data format."""
