"""Files to pieces of text. A module of this folder that defines FORMATS adds a format."""
