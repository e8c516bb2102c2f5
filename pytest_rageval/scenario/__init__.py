"""What a user may write in a scenario file, and how it is read: schema, lines, overrides."""
