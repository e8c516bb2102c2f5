"""Output of a run: in the terminal, in JUnit files, on GitHub."""
