"""Files to rows. A module of this folder that defines READERS adds a data format."""
