"""Files of other evaluation tools, turned into a scenario and its rows."""
