"""Limits on requests to models: concurrency, rates, retries, and when to give up."""
