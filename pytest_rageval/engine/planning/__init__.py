"""Planning: the steps from a scenario file to a plan."""
