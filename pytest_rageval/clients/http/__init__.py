"""JSON over HTTP: sessions, time limits, sizes, errors in plain words."""
