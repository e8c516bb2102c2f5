"""Users' own metrics: functions and classes, by import path, hook or entry point."""
