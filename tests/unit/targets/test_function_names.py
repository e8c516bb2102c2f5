"""By which name a function is told from others, where its answers are kept."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.targets.fixture import function_name
from pytest_rageval.targets.python_callable import module_file

HERE = __name__


class App:
    def ask(self, question: str) -> str:
        return question

    def __call__(self, question: str) -> str:
        return question

    @classmethod
    def of_class(cls, question: str) -> str:
        return question


class Better(App):
    """The same method in another class."""


def answer(question: str) -> str:
    return question


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (answer, "answer"),
        (App().ask, "App.ask"),
        (Better().ask, "Better.ask"),
        (Better.of_class, "Better.of_class"),
        (App(), "App"),
        (Better(), "Better"),
        (functools.partial(answer), "answer"),
        (functools.partial(functools.partial(App().ask)), "App.ask"),
        (lambda question: question, "<lambda>"),
    ],
)
def test_it_is_module_and_name(function: Callable[..., Any], name: str) -> None:
    """[E9] Of a method, the class of its object."""
    assert function_name(function) == f"{HERE}:{name}"


def test_a_module_in_another_folder_is_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E9] Two folders may have an app.py each; where the checkout lies does not matter."""
    found = []
    for checkout, folder in (("one", "a"), ("one", "b"), ("two", "a")):
        file = tmp_path / checkout / folder / "app_in_folders.py"
        file.parent.mkdir(parents=True)
        file.write_text("", "utf-8")
        with monkeypatch.context() as patch:
            patch.syspath_prepend(file.parent)
            importlib.import_module("app_in_folders")
            found.append(module_file("app_in_folders", tmp_path / checkout))
            del sys.modules["app_in_folders"]
    assert found == ["a/app_in_folders.py", "b/app_in_folders.py", "a/app_in_folders.py"]


@pytest.mark.parametrize("name", ["json", "pytest", "no_such_module_1"])
def test_a_module_that_is_installed_has_its_name_alone(name: str) -> None:
    """[E9] Also where the environment lies in the project: its folder is another in each."""
    assert module_file(name, Path(sys.prefix).parent) is None
