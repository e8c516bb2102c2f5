"""Installs what the action's input ``install`` names."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys


def main() -> int:
    """Return pip's exit status."""
    words = shlex.split(os.environ["ACTION_INSTALL"], comments=False)
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *words]
    return subprocess.run(command, check=False).returncode  # noqa: S603 (the workflow's own words)


if __name__ == "__main__":
    sys.exit(main())
