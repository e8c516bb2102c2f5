"""Run the notebooks of examples/notebook and keep what they show.

``python tests/notebooks/refresh.py`` needs nbclient, ipykernel and pandas.
"""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "examples" / "notebook"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def main() -> None:
    """Write each notebook anew, without times and without the version of Python."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        resources = {"metadata": {"path": str(FOLDER)}}
        NotebookClient(notebook, resources=resources, record_timing=False).execute()
        notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main()
