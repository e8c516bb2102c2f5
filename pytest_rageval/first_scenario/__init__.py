"""A first scenario for data as they are: what the columns hold, what can be measured by them."""
