"""Tools over MCP, for coding agents and for UltraRAG's pipelines."""
