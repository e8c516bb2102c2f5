"""Scenario files of other systems, rewritten in place into ours before validation."""
