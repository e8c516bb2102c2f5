"""YAML text with the lines of its values: read, edited, written."""
