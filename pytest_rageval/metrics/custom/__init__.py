"""Metrics of the user's own: functions and classes, by import path, hook or entry point."""
