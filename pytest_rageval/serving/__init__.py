"""What is served: a web app, DB-GPT's endpoint, and tools over MCP. pytest runs in children."""
