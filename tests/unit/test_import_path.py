"""Objects by import path: what is found, what ``sys.path`` gets, and what messages say."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

from pytest_rageval.import_path import (
    ImportPathError,
    check_of_imports,
    functions_in,
    import_object,
    module_in,
    split_path,
)
from pytest_rageval.run_paths import RunPaths

Write = Callable[[str, str], Path]


@pytest.fixture(autouse=True)
def _own_imports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give ``sys.path`` back as it was, and drop the modules of the tests: all begin with own."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name in [name for name in sys.modules if name.startswith("own")]:
        del sys.modules[name]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file below the test's folder and return its folder."""

    def write_file(name: str, text: str = "") -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file.parent

    return write_file


def refusal(path: str, *folders: Path, mode: str = "prepend") -> str:
    with pytest.raises(ImportPathError) as caught:
        import_object(path, folders, mode)  # type: ignore[arg-type]
    return str(caught.value)


def test_a_module_is_named_as_it_is_imported(write: Write) -> None:
    """E22: in a package with the names of the packages, elsewhere by its own."""
    write("own_a/__init__.py")
    folder = write("own_a/own_b/__init__.py")
    assert module_in(folder, "own_c") == "own_a.own_b.own_c"
    assert module_in(folder.parent.parent, "own_c") == "own_c"


def test_the_functions_of_a_file_are_told_without_running_it(write: Write) -> None:
    """E22: the public ones; none of what is no Python."""
    text = (
        "1 / 0\ndef f(): ...\nasync def g(): ...\nclass C:\n    def h(self): ...\ndef _i(): ...\n"
    )
    folder = write("own_f.py", text)
    assert functions_in(folder / "own_f.py") == ["f", "g", "C"]
    write("own_g.py", "def (")
    assert functions_in(folder / "own_g.py") == functions_in(folder / "none.py") == []


class TestFinding:
    def test_an_attribute_of_a_module_beside_the_scenario(self, write: Write) -> None:
        folder = write("own_metrics.py", "POLITE = 7")
        assert import_object("own_metrics:POLITE", [folder]) == 7

    def test_an_attribute_of_an_attribute(self) -> None:
        assert import_object("os:path.join") is os.path.join

    def test_a_module_of_a_package(self, write: Write) -> None:
        write("ownpkg/__init__.py", "")
        folder = write("ownpkg/metrics.py", "POLITE = 7").parent
        assert import_object("ownpkg.metrics:POLITE", [folder]) == 7

    def test_a_package_folder_is_imported_from_the_first_folder_above_it_that_is_none(
        self, write: Write, tmp_path: Path
    ) -> None:
        write("checks/__init__.py", "")
        folder = write("checks/rag/__init__.py", "")
        write("checks/rag/metrics.py", "POLITE = 7")
        assert import_object("checks.rag.metrics:POLITE", [folder]) == 7
        assert sys.path[0] == str(tmp_path)

    def test_a_file_that_was_written_a_moment_ago(self, write: Write, tmp_path: Path) -> None:
        sys.path.insert(0, str(tmp_path))
        refusal("own_young:x", tmp_path)
        seen = tmp_path.stat()
        write("own_young.py", "x = 1")
        os.utime(tmp_path, ns=(seen.st_atime_ns, seen.st_mtime_ns))  # a disk with a coarse clock
        assert import_object("own_young:x", [tmp_path]) == 1

    def test_many_threads_get_the_same_object(self, write: Write) -> None:
        folder = write("own_threads.py", "import time\ntime.sleep(0.01)\nX = object()")
        found: list[object] = []
        threads = [
            threading.Thread(target=lambda: found.append(import_object("own_threads:X", [folder])))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 8
        assert len({id(one) for one in found}) == 1
        assert sys.path.count(str(folder)) == 1

    def test_threads_do_not_put_a_folder_there_twice(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class SlowList(list[str]):
            def __contains__(self, item: object) -> bool:
                found = super().__contains__(item)
                time.sleep(0.001)  # another thread has its turn between look and change
                return found

        monkeypatch.setattr(sys, "path", SlowList(sys.path))
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: import_object("os:sep", [tmp_path]), range(4)))
        assert sys.path.count(str(tmp_path)) == 1

    def test_a_module_that_asks_for_another_one_while_it_is_imported(self, write: Write) -> None:
        text = "from pytest_rageval.import_path import import_object\nX = import_object('os:sep')"
        assert import_object("own_nested:X", [write("own_nested.py", text)]) == os.sep


class TestSysPath:
    def test_prepend_puts_the_folders_first_in_their_order_and_once(self, tmp_path: Path) -> None:
        one, two = tmp_path / "one", tmp_path / "two"
        before = list(sys.path)
        for _ in range(2):
            import_object("os:sep", [one, two], "prepend")
        assert sys.path == [str(one), str(two), *before]

    def test_append_puts_them_last(self, tmp_path: Path) -> None:
        before = list(sys.path)
        import_object("os:sep", [tmp_path], "append")
        assert sys.path == [*before, str(tmp_path)]

    def test_importlib_leaves_it_alone(self, tmp_path: Path) -> None:
        before = list(sys.path)
        import_object("os:sep", [tmp_path], "importlib")
        assert sys.path == before

    def test_a_relative_folder_stays_the_same_one(
        self, write: Write, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(write("own_relative.py", "X = 1"))
        assert import_object("own_relative:X", [Path()]) == 1
        assert sys.path[0] == str(Path.cwd())

    def test_the_default_of_a_session_is_that_of_pytest(self, tmp_path: Path) -> None:
        assert RunPaths(tmp_path).import_mode == "prepend"


class TestWhatIsNoPath:
    @pytest.mark.parametrize(
        ("path", "meant"),
        [
            ("own_metrics.polite", "own_metrics:polite"),
            ("own_metrics.py:polite", "own_metrics:polite"),
            ("./checks/own_metrics.py:polite", "checks.own_metrics:polite"),
            ("checks/own_metrics:polite", "checks.own_metrics:polite"),
        ],
    )
    def test_what_was_meant_is_shown(self, path: str, meant: str) -> None:
        expected = f"expected 'pkg.mod:attr', found {path!r}. Did you mean {meant!r}?"
        assert refusal(path) == expected

    @pytest.mark.parametrize("path", ["", "polite", ":", "a:", ":b", "a b:c", "a:b:c", "a..b:c"])
    def test_other_texts_are_refused(self, path: str) -> None:
        assert refusal(path).startswith(f"expected 'pkg.mod:attr', found {path!r}")

    def test_nothing_is_imported_to_see_that(self, write: Write) -> None:
        write("own_bomb.py", "raise RuntimeError('imported')")
        assert split_path("own_bomb:x.y") == ("own_bomb", ["x", "y"])


@pytest.mark.parametrize(
    ("file", "text", "named", "said"),
    [
        # No such module, and near ones of the folders; no package.
        ("own_metrics.py", "", "own_metric:x",
         "no module named 'own_metric' in FOLDER, sys.path. Did you mean 'own_metrics'?"),
        ("own_flat.py", "", "own_flat.sub:x",
         "no module named 'own_flat.sub': 'own_flat' is not a package, but FILE"),
        # One that raises, with the line in it, or that misses another one.
        ("own_bad.py", "def f():\n    raise ValueError('no  such\\nmodel')\n\nf()\n", "own_bad:x",
         "importing 'own_bad' raised ValueError: no such model (FILE:2)"),
        ("own_needy.py", "\nimport own_nothing\n", "own_needy:x",
         "importing 'own_needy' raised ModuleNotFoundError: No module named 'own_nothing' "
         "(FILE:2)"),
        # Names of a class, and an object without any.
        ("own_class.py", "class Tone:\n    def warmth(self): ...", "own_class:Tone.warm",
         "'own_class:Tone' (of type type) has no attribute 'warm'. Did you mean 'warmth'? "
         "Its names: warmth"),
        ("own_number.py", "X = 1", "own_number:X.y",
         "'own_number:X' (of type int) has no attribute 'y'."),
    ],
)  # fmt: skip
def test_what_cannot_be_found_is_said(
    write: Write, file: str, text: str, named: str, said: str
) -> None:
    folder = write(file, text)
    expected = said.replace("FOLDER", str(folder)).replace("FILE", str(folder / file))
    assert refusal(named, folder) == expected


class TestNoSuchModule:
    def test_near_modules_of_a_folder_below_that_is_on_the_path(self, write: Write) -> None:
        # As the ini value ``pythonpath = src`` has it.
        folder = write("src/own_metrics.py", "")
        sys.path.insert(0, str(folder))
        assert "Did you mean 'own_metrics'?" in refusal("own_metric:x", folder.parent)

    def test_near_modules_of_the_package(self, write: Write) -> None:
        write("ownbox/__init__.py", "")
        folder = write("ownbox/metrics.py", "").parent
        assert refusal("ownbox.metric:x", folder) == (
            "no module named 'ownbox.metric'. Did you mean 'ownbox.metrics'? "
            "Its modules: ownbox.metrics"
        )

    def test_a_module_beside_the_scenario_that_belongs_to_a_package(self, write: Write) -> None:
        write("ownchecks/__init__.py", "")
        folder = write("ownchecks/own_metrics.py", "")
        assert refusal("own_metrics:x", folder) == (
            f"no module named 'own_metrics'. {folder} is a package; "
            "did you mean 'ownchecks.own_metrics'?"
        )

    def test_a_module_that_the_mode_importlib_does_not_see(self, write: Write) -> None:
        folder = write("own_unseen.py", "X = 1")
        assert refusal("own_unseen:X", folder, mode="importlib") == (
            f"no module named 'own_unseen' on sys.path. {folder} has one, but "
            "--import-mode=importlib does not change sys.path: add that folder to the ini value "
            "'pythonpath'"
        )


class TestAModuleThatRaises:
    def test_a_syntax_error(self, write: Write) -> None:
        folder = write("own_syntax.py", "x = 1\ndef f(:\n")
        message = refusal("own_syntax:x", folder)
        assert message.startswith("importing 'own_syntax' raised SyntaxError: invalid syntax")
        assert message.endswith(f"({folder / 'own_syntax.py'}:2)")

    def test_also_when_it_misses_a_module_of_its_own_name(self, write: Write) -> None:
        write("ownself/__init__.py", "")
        folder = write("ownself/one.py", "import ownself.two").parent
        assert "importing 'ownself.one' raised ModuleNotFoundError" in refusal(
            "ownself.one:x", folder
        )

    def test_a_module_that_exits(self, write: Write) -> None:
        folder = write("own_exit.py", "raise SystemExit(3)")
        assert "importing 'own_exit' raised SystemExit: 3" in refusal("own_exit:x", folder)

    def test_a_module_that_raises_what_pytest_does(self, write: Write) -> None:
        """Its skip, that of importorskip too, would leave out the scenario, gates and all."""
        folder = write("own_fails.py", "import pytest\npytest.fail('no model')")
        assert "importing 'own_fails' raised Failed: no model" in refusal("own_fails:x", folder)

    def test_ctrl_c_gets_through(self, write: Write) -> None:
        folder = write("own_interrupted.py", "raise KeyboardInterrupt")
        with pytest.raises(KeyboardInterrupt):
            import_object("own_interrupted:x", [folder])


class TestAModuleFromElsewhere:
    def test_the_same_name_in_two_folders_is_refused(self, write: Write) -> None:
        one = write("one/own_twice.py", "X = 1")
        two = write("two/own_twice.py", "X = 2")
        assert import_object("own_twice:X", [one]) == 1
        assert refusal("own_twice:X", two) == (
            f"{two / 'own_twice.py'} cannot be imported: 'own_twice' is already "
            f"{one / 'own_twice.py'}; rename one of them"
        )

    def test_also_with_append_where_the_older_one_wins(self, write: Write) -> None:
        one = write("one/own_late.py", "X = 1")
        two = write("two/own_late.py", "X = 2")
        sys.path.insert(0, str(one))
        assert "cannot be imported" in refusal("own_late:X", two, mode="append")

    def test_a_module_with_the_name_of_one_of_python(self, write: Write) -> None:
        folder = write("json.py", "X = 1")
        assert "cannot be imported: 'json' is " in refusal("json:X", folder)

    def test_the_first_folder_that_has_it_counts(self, write: Write) -> None:
        one = write("one/own_first.py", "X = 1")
        two = write("two/own_first.py", "X = 2")
        assert import_object("own_first:X", [one, two]) == 1

    @pytest.mark.parametrize(
        ("files", "where", "what"),
        [
            ({"own_bot": "from own_help import X"}, "own_bot.py:1", "own_help"),
            ({"own_bot": "def f():\n    import own_help as h"}, "own_bot.py:2", "own_help"),
            ({"own_bot": "import own_mid", "own_mid": "import own_help"}, "own_mid.py:1", ""),
            ({"own_bot": "from own_pack import part"}, "own_bot.py:1", "own_pack/part"),
            ({"own_bot": "import own_pack.part"}, "own_bot.py:1", "own_pack/part"),
        ],
    )
    def test_also_what_it_imports_from_its_folder(
        self, write: Write, files: dict[str, str], where: str, what: str
    ) -> None:
        """It would run with the other folder's code, and not so alone."""
        for module in ("own_help", "own_pack/part"):
            write(f"one/{module}.py", "X = 1")
            write(f"two/{module}.py", "X = 2")
        one = write("one/own_first.py", "import own_help, own_pack.part")
        two = one.parent / "two"
        for name, text in files.items():
            write(f"two/{name}.py", text)
        import_object("own_first:own_help", [one])
        module = what or "own_help"
        assert refusal("own_bot:__name__", two) == (
            f"{two / where} imports {module.replace('/', '.')!r}, which is already "
            f"{one / module}.py, not {two / module}.py; rename one of them, or run the two "
            "folders apart"
        )

    @pytest.mark.parametrize("when", ['__name__ == "__main__"', "TYPE_CHECKING", "t.TYPE_CHECKING"])
    def test_what_is_imported_otherwise_alone_is_left_alone(self, write: Write, when: str) -> None:
        """As a script, or for a type checker; what is imported else counts."""
        import_object("own_help:X", [write("one/own_help.py", "X = 1")])
        text = "import typing as t\nTYPE_CHECKING = t.TYPE_CHECKING\nX = 2\n"
        body = f"if {when}:\n    import own_help\n"
        write("two/own_help.py", "X = 2")
        two = write("two/own_bot.py", text + body)
        assert import_object("own_bot:X", [two]) == 2
        write("two/own_else.py", f"{text}{body}else:\n    import own_help\n")
        assert "own_else.py:7 imports 'own_help'" in refusal("own_else:X", two)

    def test_also_what_it_imports_when_it_is_called(self, write: Write) -> None:
        """The folder that came to sys.path last is before its own; each call says so."""
        for folder in ("one", "two"):
            write(f"{folder}/own_help.py", f"X = {folder!r}")
            write(f"{folder}/own_{folder}.py", "def f():\n    import own_help as h\n    return h.X")
        one = write("one/own_more.py")
        two = one.parent / "two"
        f = import_object("own_one:f", [one])
        first = check_of_imports("own_one:f", [one], "prepend")
        import_object("own_two:f", [two])
        second = check_of_imports("own_two:f", [two], "prepend")
        alone = check_of_imports("own_one:f", [one], "importlib")
        first()
        assert f() == "two"  # type: ignore[operator]
        for _ in range(2):
            with pytest.raises(ImportPathError, match="imports 'own_help', which is already"):
                first()
        second()
        alone()

    @pytest.mark.parametrize("name", ["own_help", "conftest", "json", "pluggy"])
    def test_what_it_imports_is_left_alone(
        self, write: Write, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        """Where it is its own, or one of pytest, of Python or of an installed package."""
        write(f"own/{name}.py", "X = 1")
        folder = write("own/own_bot.py", f"import {name}")
        other = ModuleType("conftest")
        other.__file__ = str(write("other/conftest.py") / "conftest.py")
        monkeypatch.setitem(sys.modules, "conftest", other)
        assert import_object("own_bot:__name__", [folder]) == "own_bot"
        assert import_object("own_bot:__name__", [folder.parent, folder]) == "own_bot"

    def test_the_scenarios_folder_comes_before_that_of_the_module(self, write: Write) -> None:
        """As in a run of this scenario alone."""
        one = write("one/own_help.py", "X = 1")
        write("two/own_help.py", "X = 2")
        two = write("two/own_bot.py", "from own_help import X")
        assert import_object("own_bot:X", [one, two]) == 1

    def test_a_cycle_of_imports_is_followed_once(self, write: Write) -> None:
        write("own_help.py", "import own_bot")
        folder = write("own_bot.py", "import own_help")
        assert import_object("own_bot:__name__", [folder]) == "own_bot"


class TestNoSuchAttribute:
    def test_near_names_and_what_there_is(self, write: Write) -> None:
        text = "import os\nfrom json import dumps\nfrom typing import Any\n_x = 1\n"
        text += "def politeness(): ...\nclass Kind: ...\nlevels = {}\n"
        folder = write("own_names.py", text)
        assert refusal("own_names:polite", folder) == (
            f"'own_names' ({folder / 'own_names.py'}) has no attribute 'polite'. "
            "Did you mean 'politeness'? Its names: Kind, levels, politeness"
        )

    def test_a_module_that_makes_its_names_when_asked(self, write: Write) -> None:
        text = "def __getattr__(name):\n    if name == 'late':\n        return 5\n"
        text += "    raise RuntimeError('not this one')\n"
        folder = write("own_lazy.py", text)
        assert import_object("own_lazy:late", [folder]) == 5
        assert "own_lazy:other' raised RuntimeError: not this one" in refusal(
            "own_lazy:other", folder
        )
