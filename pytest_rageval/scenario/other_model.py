"""What stays of a judge, an embedding or a target when a value from outside names another model."""

from __future__ import annotations

from typing import Any

from pytest_rageval.scenario.short_forms import names_profile
from pytest_rageval.scenario.yaml.tree import YamlTree


def take_profile(tree: YamlTree, path: tuple[str, ...], present: dict[str, Any], name: str) -> None:
    """Let the profile say which model is asked, where and with which key; the rest stays.

    What an option has set before stays, too; if ``path`` ends in ``model``, only where it says
    none of these three. A profile with nothing but a price does not say where.
    """
    role, step = path
    of_profile = tree.data["models"][name]
    said = of_profile if isinstance(of_profile, dict) else {}
    if said.keys() == {"price"}:
        identity: tuple[str, ...] = ("profile", "model", "price")
    else:
        identity = ("profile", "model", "provider", "base_url", "api_key_env", "headers", "price")
        identity = (*identity, "extra_body")
    set_before = {key for key in present if _is_set_by_option(tree, (role, key))}
    taken = {*identity, *said} - (set_before if step == "profile" else set_before - {*identity})
    tree.data[role] = {key: value for key, value in present.items() if key not in taken}


def _is_set_by_option(tree: YamlTree, path: tuple[str, ...]) -> bool:
    """Return whether an option (no variant) has set this very key, not the whole section."""
    source = tree.where(path)
    is_of_file = source == tree.source or source.startswith(f"{tree.source}:")
    return not is_of_file and source != tree.where(path[:1])


def stay_with_profile(tree: YamlTree, role: str, present: dict[str, Any]) -> None:
    """Name a profile that stood in place of a model as ``profile``: its server and key stay."""
    name = present.get("model")
    if "profile" in present or not names_profile(tree.data, name):
        return
    if {*(tree.data["models"][name] or ())} != {"price"}:  # a price is that of its own model
        tree.data[role] = {"profile": name, **present}


def leave_price(tree: YamlTree, role: str, name: Any) -> None:
    """Take the price away unless it is that of the model ``name``, or an option set it.

    A price that stands beside no model is that of the one which the option names.
    """
    keys = tree.data.get(role)
    if not isinstance(keys, dict):
        return
    model, named = keys.get("model"), keys.get("profile")
    found = (tree.data.get("models") or {}).get(named)
    profile = found if isinstance(found, dict) else {}
    # A profile that says no model is called as its model.
    before = profile.get("model", named) if model in (None, named) else model
    prices = [(role, "price", *below) for below in ((), ("input",), ("output",))]
    if before not in (None, name) and not any(_is_set_by_option(tree, price) for price in prices):
        keys.pop("price", None)
        if "price" in profile:
            keys["price"] = None
