"""Plugins for the pytest processes that the web app and the tools for agents start.

Each is loaded with ``-p`` and writes what it finds as lines of JSON, see ``output``.
"""
