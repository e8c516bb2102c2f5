"""Systems under test. A module of this folder that defines TARGETS adds a kind of them."""
