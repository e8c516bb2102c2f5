"""A real model and real servers on this machine, as docs/how-to/local-server.md starts them.

`tox -e local-model` brings the packages; without them these tests are skipped. A server is a child
process on a free port, and gets one thread: several wait for each other where a machine is busy.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "local-server.md"
PATIENCE_S = 1500
"""How long a run may take before it counts as one that hangs."""


def block(language: str, first: str) -> str:
    """Return the page's block of this language that holds the text ``first``."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
    return next(str(one) for one in found if first in one)


def needed(package: str) -> Path:
    """Return the folder of a package of `tox -e local-model`, or skip the test."""
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"the package {package} is not installed: tox -e local-model")
    return Path(found.submodule_search_locations[0])


def free_port() -> int:
    """Return a port that nobody listens to now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def answers(url: str) -> bool:
    """Return whether the server answers this with 200."""
    try:
        with urlopen(url, timeout=5) as reply:
            return bool(reply.status == 200)
    except (URLError, OSError):
        return False


@contextmanager
def child(command: Sequence[str], log: Path, *, ready: str) -> Iterator[None]:
    """Run a server until the block ends; wait until ``ready`` answers, unless it is empty."""
    with log.open("wb") as said:
        running = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        try:
            until = time.monotonic() + 120
            while ready and not answers(ready):
                has_ended = running.poll() is not None or time.monotonic() > until
                assert not has_ended, log.read_text("utf-8", "replace")
                time.sleep(0.2)
            yield
        finally:
            running.kill()
            running.wait()


@dataclass(frozen=True)
class Server:
    """A server of the how-to."""

    url: str

    def counted(self) -> dict[str, int]:
        """Return the tokens that it worked on since it started; a prompt that it keeps is none."""
        with urlopen(f"{self.url}/metrics", timeout=30) as reply:
            lines = reply.read().decode().splitlines()
        kept = [line.removeprefix("llamacpp:").split() for line in lines if line[:1] != "#"]
        counted = {name: int(float(value)) for name, value in kept}
        return {name: counted[name] for name in ("prompt_tokens_total", "tokens_predicted_total")}


@dataclass
class Folder:
    """A folder with a scenario, whose runs are processes of their own."""

    path: Path
    said: str = ""
    took_s: float = 0.0

    def scenario(self, rows: Sequence[Mapping[str, Any]], **keys: Any) -> None:
        """Write ``local.rageval.yaml`` with its rows."""
        text = json.dumps({"name": "local", "dataset": [*rows], **keys}, ensure_ascii=False)
        (self.path / "local.rageval.yaml").write_text(text, encoding="utf-8")

    def start(self, *options: str) -> subprocess.Popen[str]:
        """Start pytest on the scenario."""
        command = [sys.executable, "-m", "pytest", "--rag-scenario=local.rageval.yaml", *options]
        given = {
            name: value for name, value in os.environ.items() if not name.startswith("RAGEVAL_")
        }
        # langsmith and whatever else is installed beside ragas has no part in this.
        given |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "-p rageval"}
        return subprocess.Popen(
            command, cwd=self.path, env=given, text=True, encoding="utf-8",
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def pytest(self, *options: str) -> int:
        """Run pytest to its end; a run that does not end is a failed test. Return the status."""
        begun = time.monotonic()
        running = self.start(*options)
        try:
            self.said, _ = running.communicate(timeout=PATIENCE_S)
        finally:
            running.kill()
            self.took_s = time.monotonic() - begun
        return running.returncode

    @property
    def results(self) -> dict[str, Any]:
        """results.json of the newest run."""
        path = self.path / ".rageval" / "local" / "latest" / "results.json"
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return found

    def reasons(self, metric: str) -> list[str]:
        """Return why samples have no score of this metric; each has to say so."""
        found = []
        for sample in self.results["samples"]:
            if sample["scores"].get(metric) is None:
                reasons = {**sample.get("reasons", {}), **sample["errors"]}
                assert reasons.get(metric), f"{sample['id']} has no score and no reason: {sample}"
                found.append(str(reasons[metric]))
        return found
