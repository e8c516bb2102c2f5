"""Language models: clients that metrics and targets use."""
