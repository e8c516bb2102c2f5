"""The pytest layer: hooks, items and terminal output. The layers below make every decision."""
