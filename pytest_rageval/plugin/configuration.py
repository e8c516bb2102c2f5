"""Which configuration file of pytest applies to a folder, and what to say if it is not used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

_SECTIONS = {
    "pytest.toml": "",
    ".pytest.toml": "",
    "pytest.ini": "",
    ".pytest.ini": "",
    "pyproject.toml": "[tool.pytest",
    "tox.ini": "[pytest]",
    "setup.cfg": "[tool:pytest]",
}
"""The files that pytest looks for, in its order, and how the section that each needs begins."""

CONFIG_NAMES = tuple(_SECTIONS)


def configuration_of(folder: Path) -> Path | None:
    """Return the file that configures pytest in ``folder``, from it or a folder above, or None."""
    for parent in (folder, *folder.parents):
        for name, section in _SECTIONS.items():
            if _has(parent / name, section):
                return parent / name
    return None


def _has(path: Path, section: str) -> bool:
    try:
        text = path.read_text("utf-8", "replace")
    except OSError:
        return False
    return not section or any(line.strip().startswith(section) for line in text.splitlines())


def outside_rootdir(scenarios: Iterable[Path], root: Path, inipath: Path | None) -> Iterator[str]:
    """Yield a remark for each scenario outside the rootdir, with the configuration that is used.

    pytest does not look for one near ``--rag-scenario``: that of the rootdir applies.
    """
    for path in dict.fromkeys(scenarios):
        if path.is_relative_to(root):
            continue
        own = configuration_of(path.parent)
        is_ignored = own is not None and own != inipath
        hint = f"; {own} is ignored: use it with 'pytest -c {own}'" if is_ignored else ""
        yield (
            f"rageval: {path} is outside the rootdir; pytest uses rootdir {root}, "
            f"configuration {inipath or 'none'}{hint}"
        )


def path_unknown_to_workers(scenarios: Iterable[str], specs: Iterable[str]) -> str | None:
    """Return the error if xdist's workers look for a relative path in another folder, or None.

    ``specs`` are the values of ``--tx``. Workers of this machine (``popen``) find it, and
    nothing is said of those with a given folder (``chdir``).
    """
    remote = [
        spec for spec in specs if re.match(r"(\d+\*)?(socket|ssh)=", spec) and "chdir=" not in spec
    ]
    relative = [name for name in scenarios if not Path(name).is_absolute()]
    if not (remote and relative):
        return None
    return (
        f"--rag-scenario: {relative[0]}: the workers of --tx {remote[0]} run in another folder "
        f"and do not find it; give an absolute path that exists on their machine: "
        f"--rag-scenario={Path(relative[0]).absolute()}"
    )
