"""[A16, E20] Profiles that a variant, an option or a patch names beside what the file says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_rageval import patch_scenario
from pytest_rageval.scenario.loader import inspect_tree
from pytest_rageval.scenario.model_specs import filled_roles
from pytest_rageval.scenario.overrides import set_override
from pytest_rageval.scenario.yaml.tree import parse_yaml

LOCAL = {"model": "qwen3", "base_url": "http://local/v1"}
HOST = "model: gpt, base_url: 'https://host/v1', api_key_env: KEY_A"
GPT = {"model": "gpt", "base_url": "https://host/v1", "api_key_env": "KEY_A"}
STRONG = {"model": "big", "temperature": 0, "api_key_env": "KEY_B"}
OLD = f"judge: {{{HOST}, repeats: 3, temperature: 1, seed: 3}}"
BIG = {"model": "big", "temperature": 0, "repeats": 2, "api_key_env": "KEY_B", "seed": 3}
BASE = """\
name: s
dataset: rows.jsonl
metrics: [em]
models:
  local: {model: qwen3, base_url: 'http://local/v1'}
  strong: {model: big, temperature: 0, repeats: 2, api_key_env: KEY_B}
  gpt-4.1: {concurrency: 2}
  mini: {price: 2}
  bare: null
"""


def filled(role: str, text: str, variant: str = "", *options: str) -> Any:
    """Return what is read of a role with a variant and options laid over, its profile filled in."""
    whole = f"{BASE}{text}\n" + (f"variants: {{v: {variant}}}\n" if variant else "")
    given = [set_override("--rag-set", option) for option in options]
    tree = parse_yaml(whole, "s.yaml")
    loaded, problems = inspect_tree(tree, Path("s.yaml"), given, variant="v" if variant else "")
    assert problems == []
    return filled_roles(loaded.tree.data)[role]


@pytest.mark.parametrize(
    ("text", "variant", "options", "expected"),
    [
        # What stands beside a profile in the file itself wins over it.
        ("judge: {profile: local, model: x}", "", [], {**LOCAL, "model": "x"}),
        (
            "judge: {profile: local, base_url: 'http://b'}",
            "",
            [],
            {**LOCAL, "base_url": "http://b"},
        ),
        # A profile of a variant with keys of its own beside it.
        ("judge: gpt", "{judge: {profile: local, model: x}}", [], {**LOCAL, "model": "x"}),
        (
            "judge: {profile: strong}",
            "{judge: {profile: strong, temperature: 1}}",
            [],
            {"model": "big", "temperature": 1, "repeats": 2, "api_key_env": "KEY_B"},
        ),
        # The same profile again takes nothing away.
        (
            "judge: {profile: local, model: x, seed: 3}",
            "{judge: {profile: local, seed: 4}}",
            [],
            {**LOCAL, "model": "x", "seed": 4},
        ),
        # Null is a profile without keys: its name is the model.
        ("judge: {profile: bare, seed: 3}", "", [], {"model": "bare", "seed": 3}),
        ("judge: bare", "", [], {"model": "bare"}),
        ("judge: local", "{judge: {profile: bare, model: x}}", [], {"model": "x"}),
        # Names that are no profile are models at the judge's server.
        (f"judge: {{{HOST}}}", "{judge: other}", [], "other"),
        (f"judge: {{{HOST}}}", "", ["judge.model=other"], "other"),
        # One for another: nothing of the old one stays.
        ("judge: strong", "{judge: local}", [], LOCAL),
        ("judge: strong", "", ["judge.model=local"], LOCAL),
        (f"judge: {{{HOST}, seed: 3}}", "{judge: local}", [], {**LOCAL, "seed": 3}),
        # A variant that replaces a bare name has a model of its own server.
        ("judge: local", "{judge: gpt}", [], {"model": "gpt"}),
        # What the file says beside the old model was said of that one, in a variant, too.
        (OLD, "", ["judge.model=strong"], BIG),
        (OLD, "{judge: strong}", [], BIG),
        ("judge: gpt", "{judge: {repeats: 5, seed: 3}}", ["judge.model=strong"], BIG),
        ("judge: gpt", "", ["judge={model: gpt, repeats: 5, seed: 3}", "judge.model=strong"], BIG),
        # Nor does a price, but that of the variant itself.
        ("judge: {model: m, price: 2}", "{judge: {model: x}}", [], {"model": "x"}),
        ("judge: {model: m, price: 2}", "{judge: x}", [], {"model": "x"}),
        (
            "judge: {model: m, price: 2}",
            "{judge: {price: 3, model: x}}",
            [],
            {"model": "x", "price": {"input": 3}},
        ),
        *(
            (
                "judge: {profile: mini}",
                f"{{models: {{mini: {{{price}model: x}}}}}}",
                [],
                {"model": "x", **found},
            )
            for price, found in (("", {}), ("price: 3, ", {"price": {"input": 3}}))
        ),
        # Nor does a server or key stay that was given for another model.
        (
            "judge: gpt",
            "",
            ["judge.base_url='http://b'", "judge.seed=3", "judge.model=strong"],
            BIG,
        ),
        (OLD, "{judge: {api_key_env: KEY_C, price: 1}}", ["judge.model=strong"], BIG),
        # After the model, all that is set of it holds.
        (OLD, "", ["judge.model=strong", "judge.repeats=5"], {**BIG, "repeats": 5}),
        (OLD, "{judge: {model: strong, repeats: 5}}", [], {**BIG, "repeats": 5}),
        (OLD, "{judge: strong}", ["judge.repeats=5"], {**BIG, "repeats": 5}),
    ],
)
def test_what_a_judge_is_asked_with(
    text: str, variant: str, options: list[str], expected: Any
) -> None:
    """What is beside a profile wins over it; a name that is none changes the model alone."""
    if isinstance(expected, str):
        expected = {"model": expected, "base_url": "https://host/v1", "api_key_env": "KEY_A"}
    assert filled("judge", text, variant, *options) == expected


@pytest.mark.parametrize(
    ("text", "variant", "options", "expected"),
    [
        # Types whose model is none of ours: DB-GPT's app has one that may be called as a profile.
        (
            "target: {type: dbgpt, dbgpt: 'http://d', app: a, model: gpt, api_key_env: KEY_A}",
            "",
            ["target.model=local"],
            {
                "type": "dbgpt",
                "dbgpt": "http://d",
                "app": "a",
                "model": "local",
                "api_key_env": "KEY_A",
            },
        ),
        (
            "target: {dbgpt: 'http://d', app: a, model: local}",
            "",
            ["target.model=other"],
            {"dbgpt": "http://d", "app": "a", "model": "other"},
        ),
        # Words and paths that are no profile.
        ("target: fixture", "", ["target.concurrency=2"], {"type": "fixture", "concurrency": 2}),
        ("target: hook", "{target: {concurrency: 2}}", [], {"type": "hook", "concurrency": 2}),
        (
            "target: 'm.n:f'",
            "{target: {options: {k: 1}}}",
            [],
            {"type": "python", "use": "m.n:f", "options": {"k": 1}},
        ),
        (
            "target: 'http://t/ask'",
            "",
            ["target.body={q: 1}"],
            {"type": "http", "url": "http://t/ask", "body": {"q": 1}},
        ),
        # Another type replaces the whole.
        (
            "target: {url: 'http://t', headers: {X: y}}",
            "{target: local}",
            [],
            {"type": "chat", **LOCAL},
        ),
        (
            f"target: {{{HOST}, prompt: P}}",
            "{target: 'm:f'}",
            [],
            "m:f",
        ),
        (
            f"target: {{{HOST}, prompt: P}}",
            "{target: {temperature: 1}}",
            [],
            {
                "model": "gpt",
                "base_url": "https://host/v1",
                "api_key_env": "KEY_A",
                "prompt": "P",
                "temperature": 1,
            },
        ),
        ("target: local", "{target: null}", [], None),
        ("target: local", "{target: strong}", [], "strong"),
        # A variant with a model of its own beside a bare target.
        (
            "target: strong",
            "{target: {model: gpt, api_key_env: KEY_C}}",
            [],
            {"model": "gpt", "api_key_env": "KEY_C"},
        ),
        # Options before their profile.
        (
            "target: {profile: strong}",
            "",
            ["target.base_url='http://x'", "target.profile=local"],
            {"type": "chat", **LOCAL, "base_url": "http://x"},
        ),
        # The same model again, and a profile that is a price alone.
        (f"target: {{{HOST}}}", "{target: {model: gpt, prompt: P}}", [], {**GPT, "prompt": "P"}),
        (
            f"target: {{{HOST}}}",
            "{target: {model: mini}}",
            [],
            {"type": "chat", **GPT, "model": "mini", "price": 2},
        ),
        # What only the old server takes.
        (
            "target: {model: x, base_url: 'http://y', extra_body: {k: 1}, prompt: P}",
            "{target: strong}",
            [],
            {"type": "chat", **STRONG, "prompt": "P"},
        ),
        # A bare target is replaced as a whole.
        ("target: strong", "", [], {"type": "chat", **STRONG}),
        ("target: strong", "{target: local}", [], {"type": "chat", **LOCAL}),
        ("target: strong", "{target: 'm:f'}", [], "m:f"),
        ("target: strong", "{target: fixture}", [], "fixture"),
        ("target: strong", "{target: {url: 'http://t'}}", [], {"url": "http://t"}),
        ("target: fixture", "{target: strong}", [], {"type": "chat", **STRONG}),
        (
            "target: {use: 'm:f', options: {k: 1}}",
            "{target: strong}",
            [],
            {"type": "chat", **STRONG},
        ),
        ("target: strong", "", ["target=local"], {"type": "chat", **LOCAL}),
        ("target: strong", "", ["target={profile: local}"], {"type": "chat", **LOCAL}),
        ("target: gpt-4.1", "", [], {"type": "chat", "model": "gpt-4.1", "concurrency": 2}),
    ],
)
def test_what_a_target_is_asked_with(
    text: str, variant: str, options: list[str], expected: Any
) -> None:
    """Only a chat model has a profile; another type of target replaces the whole target."""
    if expected is None:
        with pytest.raises(KeyError):
            filled("target", text, variant, *options)
        return
    if expected == "strong":
        expected = {"type": "chat", "model": "big", "temperature": 0, "api_key_env": "KEY_B"}
    assert filled("target", text, variant, *options) == expected


@pytest.mark.parametrize("step", ["profile", "model"])
@pytest.mark.parametrize(
    ("role", "rest"),
    [("judge", {"seed": 3}), ("embedding", {"retries": 1}), ("target", {"prompt": "P"})],
)
def test_a_profile_brings_its_server_and_key_to_each_role(
    role: str, step: str, rest: dict[str, Any]
) -> None:
    """The key of the old model went to the server of the new one; its URL kept the old model."""
    ((key, value),) = rest.items()
    text = f"{role}: {{{HOST}, headers: {{X: y}}, price: 1, {key}: {value}}}"
    of_target = {"type": "chat"} if role == "target" else {}
    expected = {**of_target, **LOCAL, **rest}
    assert filled(role, text, f"{{{role}: {{{step}: local}}}}") == expected
    assert filled(role, text, "", f"{role}.{step}=local") == expected
    other = f"{role}: {{profile: strong, {key}: {value}}}"
    assert filled(role, other, f"{{{role}: {{{step}: local}}}}") == expected


def test_a_bare_profile_of_a_variant_brings_its_server_to_embeddings() -> None:
    assert filled("embedding", f"embedding: {{{HOST}}}", "{embedding: local}") == LOCAL


@pytest.mark.parametrize("order", ["{model: x, profile: local}", "{profile: local, model: x}"])
def test_a_model_beside_a_profile_of_a_variant_is_asked_at_its_server(order: str) -> None:
    """In any order, as in the file itself; also one that is called as another profile."""
    for name in ("x", "strong"):
        variant = f"{{judge: {order.replace('x', name)}}}"
        assert filled("judge", f"judge: {{{HOST}}}", variant) == {**LOCAL, "model": name}


def test_a_profile_that_only_the_variant_has_is_found() -> None:
    """Whichever of its keys comes first."""
    new = "models: {new: {model: n, base_url: 'http://n'}}"
    for variant in (f"{{target: {{profile: new}}, {new}}}", f"{{{new}, target: {{model: new}}}}"):
        found = filled("target", f"target: {{{HOST}, prompt: P}}", variant)
        assert found == {"type": "chat", "model": "n", "base_url": "http://n", "prompt": "P"}


def test_a_patch_that_names_a_profile_takes_the_old_server_away(tmp_path: Path) -> None:
    """The file says no more who was asked before."""
    path = tmp_path / "s.rageval.yaml"
    path.write_text(f"{BASE}target: {{{HOST}, prompt: P}}\n", "utf-8")
    assert patch_scenario(path, {"target.profile": "local"}) == ("target.profile",)
    assert path.read_text("utf-8").endswith("\ntarget: {prompt: P, profile: local}\n")


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("judge: gpt", ["judge.model=other"], {"model": "other"}),
        ("judge: {profile: local}", ["judge.model=other"], {**LOCAL, "model": "other"}),
        ("judge: {profile: local, model: x}", ["judge.model=other"], {**LOCAL, "model": "other"}),
        # The name of a profile without a model is the model.
        ("judge: gpt-4.1", ["judge.seed=1"], {"model": "gpt-4.1", "concurrency": 2, "seed": 1}),
        ("judge: local", ["judge.model=strong", "judge.repeats=2"], {**STRONG, "repeats": 2}),
        ("judge: local", ["judge.model=local"], LOCAL),
        ("judge: local", ["judge=other"], {"model": "other"}),
        ("judge: local", ["judge.model=strong", "judge.model=local"], LOCAL),
        ("judge: local", ["judge.base_url='http://b'"], {**LOCAL, "base_url": "http://b"}),
    ],
)
def test_what_an_option_makes_of_the_judge(text: str, options: list[str], expected: Any) -> None:
    found = filled("judge", text, "", *options)
    assert (found if isinstance(found, dict) else {"model": found}) == expected


@pytest.mark.parametrize("written", ["local", "{model: local}", "{profile: local}"])
@pytest.mark.parametrize("role", ["judge", "embedding", "target"])
def test_another_model_of_an_option_is_asked_at_the_server_of_the_profile(
    role: str, written: str
) -> None:
    """The rows and the usual key went to OpenAI where the profile was named in short."""
    if (role, written) == ("target", "local"):
        written = "{model: local, prompt: P}"
    of_target = {"type": "chat"} if role == "target" else {}
    rest = {"prompt": "P"} if "prompt" in written else {}
    found = filled(role, f"{role}: {written}", "", f"{role}.model=other")
    assert found == {**of_target, **LOCAL, **rest, "model": "other"}
    again = filled(role, f"{role}: {written}", "", f"{role}.model=other", f"{role}.model=more")
    assert again == {**found, "model": "more"}


def test_a_patch_says_all_of_another_model_as_a_variant_does(tmp_path: Path) -> None:
    """Beside the old profile, the new key would go to its server."""
    path = tmp_path / "s.rageval.yaml"
    path.write_text(f"{BASE}judge: local\n", "utf-8")
    patch_scenario(path, {"judge": {"model": "x", "api_key_env": "KEY_C", "base_url": None}})
    assert path.read_text("utf-8").endswith("\njudge: {model: x, api_key_env: KEY_C}\n")
    patch_scenario(path, {"judge": {"model": "strong"}})
    assert path.read_text("utf-8").endswith("\njudge: {model: strong}\n")


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("judge: mini", ["judge.model=other"], {"model": "other"}),
        ("judge: {model: m, price: 2}", ["judge.model=other"], {"model": "other"}),
        ("judge: {model: m, price: 2}", ["judge.model=m"], {"model": "m", "price": 2}),
        (
            "judge: {model: m, price: 2}",
            ["judge.price=3", "judge.model=other"],
            {"model": "other", "price": 3},
        ),
        (
            "judge: {model: m, price: 2}",
            ["judge.price.output=3", "judge.model=other"],
            {"model": "other", "price": {"input": 2, "output": 3}},
        ),
        (
            "judge: {model: m, price: 2}",
            ["judge.model=other", "judge.price=3"],
            {"model": "other", "price": 3},
        ),
        *(
            ("judge: {price: 2}", [*before, "judge.model=m"], {"model": "m", "price": 2})
            for before in ([], ["judge.model=x"])
        ),
        ("judge: {model: m, price: 2}", ["judge.model=m", "judge.model=x"], {"model": "x"}),
        ("judge: paid", ["models.paid.model=x"], {"model": "x", "seed": 1}),
        (
            "judge: {profile: paid, model: m}",
            ["models.paid.model=x"],
            {"model": "m", "seed": 1, "price": 2},
        ),
        ("judge: {profile: paid, price: 5}", ["models.paid.model=x"], {"model": "x", "seed": 1}),
        (
            "judge: paid",
            ["models.paid.price=3", "models.paid.model=x"],
            {"model": "x", "seed": 1, "price": 3},
        ),
        # A profile that says no model is called as its model.
        ("judge: {profile: mini}", ["judge.model=other"], {"model": "other", "price": None}),
        ("judge: {profile: bare, price: 2}", ["judge.model=other"], {"model": "other"}),
        *(
            (f"judge: {judge}", [f"judge.model={name}"], {"model": name, "seed": 1, "price": price})
            for judge in ("paid", "{profile: paid}", "{profile: paid, price: 5}")
            for name, price in (("other", None), ("m", 5 if "5" in judge else 2))
        ),
    ],
)
def test_the_price_of_a_model_is_not_that_of_another(
    text: str, options: list[str], expected: Any
) -> None:
    """A budget counted the calls of a dear judge at the price of a cheap one."""
    models = "models: {paid: {model: m, price: 2, seed: 1}, mini: {price: 2}, bare: null}"
    data = parse_yaml(f"name: s\ndataset: r.jsonl\nmetrics: [em]\n{models}\n{text}\n", "s.yaml")
    given = [set_override("--rag-set", option) for option in options]
    loaded, problems = inspect_tree(data, Path("s.yaml"), given)
    assert (problems, filled_roles(loaded.tree.data)["judge"]) == ([], expected)


def test_a_patch_leaves_a_price_that_it_does_not_name(tmp_path: Path) -> None:
    path = tmp_path / "s.rageval.yaml"
    path.write_text(f"{BASE}judge: {{model: m, price: 2}}\n", "utf-8")
    assert patch_scenario(path, {"judge": {"price": 2, "model": "x"}}) == ("judge.model",)
    assert path.read_text("utf-8").endswith("\njudge: {model: x, price: 2}\n")


@pytest.mark.parametrize("written", ["", "judge: {profile: strong}"])
def test_a_patch_may_say_keys_before_their_profile(tmp_path: Path, written: str) -> None:
    """JSON that is sorted does."""
    path = tmp_path / "s.rageval.yaml"
    path.write_text(f"{BASE}{written}\n", "utf-8")
    keys = {"api_key_env": "K", "base_url": "http://gw/v1", "model": "m1", "profile": "local"}
    patch_scenario(path, {"judge": {**keys, "repeats": 3}})
    found = parse_yaml(path.read_text("utf-8"), "").data["judge"]
    assert found == {**keys, "repeats": 3}


@pytest.mark.parametrize("name", ["local", "gpt-4.1", "qwen2.5:7b", "fixture"])
@pytest.mark.parametrize("base", ["target: {type: chat, profile: strong, prompt: P}"])
def test_a_bare_profile_of_a_variant_keeps_what_is_beside_the_other(base: str, name: str) -> None:
    """Two things varied: the model, and the prompt, which the variant lost."""
    more = "models: {'qwen2.5:7b': {seed: 1}, fixture: {seed: 2}}"
    named = filled("target", base, f"{{target: {{profile: '{name}'}}, {more}}}")
    assert filled("target", base, f"{{target: '{name}', {more}}}") == named
    assert named["prompt"] == "P"


@pytest.mark.parametrize("name", ["local", "gpt-4.1"])
def test_an_option_beside_a_bare_profile(name: str, tmp_path: Path) -> None:
    """It was refused: "unknown target type 'local'"."""
    expected = filled("target", f"target: {{profile: {name}, prompt: P}}")
    text = f"target: {name}"
    assert filled("target", text, "", "target.prompt=P") == expected
    assert filled("target", text, "{target: {prompt: P}}") == expected
    assert filled("target", text, "{target: {prompt: Q}}", "target.prompt=P") == expected
    variant = f"{{target: {name}}}"
    assert filled("target", "", variant, "variants.v.target.prompt=P") == expected
    path = tmp_path / "s.rageval.yaml"
    path.write_text(f"{BASE}{text}\n", "utf-8")
    assert patch_scenario(path, {"target.prompt": "P"}) == ("target.prompt",)
    assert path.read_text("utf-8").endswith(f"\ntarget: {{profile: {name}, prompt: P}}\n")


@pytest.mark.parametrize("key", ["repeats: 5", "temperature: 0.5", "controls: 'off'"])
def test_what_is_set_beside_a_profile_stays_in_any_order(key: str, tmp_path: Path) -> None:
    """Options, variants and patches set it, and it was lost to a key of the profile."""
    name, value = key.split(": ")
    more = "models: {strong: {controls: require}}"
    expected = filled("judge", "judge: {profile: strong, seed: 3, " + key + "}", f"{{{more}}}")
    for order in (f"{{{key}, model: strong}}", f"{{model: strong, {key}}}"):
        assert filled("judge", OLD, f"{{judge: {order}, {more}}}") == expected
    options = [f"judge.{name}={value}", "judge.model=strong"]
    for order in (options, options[::-1]):
        found = filled("judge", OLD, f"{{{more}}}", *order)
        assert {**found, "controls": 0} == {**expected, "controls": 0}
        assert name != "controls" or found[name] in ("off", {"mode": "off"})
    path = tmp_path / "s.rageval.yaml"
    path.write_text(f"{BASE}{OLD}\n", "utf-8")
    if name == "repeats":
        patch_scenario(path, {"judge": {"repeats": 5, "model": "strong"}})
        assert path.read_text("utf-8").endswith("\njudge: {model: strong, repeats: 5, seed: 3}\n")
