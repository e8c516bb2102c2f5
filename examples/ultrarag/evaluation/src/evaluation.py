"""The evaluation server that UltraRAG starts at the end of a pipeline: pytest-rageval's tools."""

import sys

import pytest

if __name__ == "__main__":
    sys.exit(pytest.main(["--rag-mcp=ultrarag"]))
