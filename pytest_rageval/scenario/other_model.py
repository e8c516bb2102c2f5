"""What stays of a judge, an embedding or a target when a value from outside names another model."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from pytest_rageval.scenario.short_forms import ROLES, names_profile, value_at
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

    A price that stands beside no model is that of the one which the last option names.
    """
    keys = tree.data.get(role)
    if not isinstance(keys, dict):
        return
    model, named = keys.get("model"), keys.get("profile")
    if _is_set_by_option(tree, (role, "model")) and (role, "model") not in tree.lines:
        model = None
    found = (tree.data.get("models") or {}).get(named)
    profile = found if isinstance(found, dict) else {}
    # A profile that says no model is called as its model.
    before = profile.get("model", named) if model in (None, named) else model
    if before not in (None, name) and not _has_price_by_option(tree, (role,)):
        keys.pop("price", None)
        if "price" in profile:
            keys["price"] = None


def leave_price_of_profile(tree: YamlTree, profile: str, name: Any) -> None:
    """Take the price away, as ``leave_price`` does, of a profile and of the roles that ask it.

    A role with a model of its own keeps it.
    """
    keys = value_at(tree.data, ("models", profile))
    # A profile that says no model is called as its model.
    if not isinstance(keys, dict) or keys.get("model", profile) == (name or profile):
        return
    places: list[tuple[str, ...]] = [("models", profile)]
    for role in ROLES:
        section = tree.data.get(role)
        said = section if isinstance(section, dict) else {}
        if {said.get("profile"), said.get("model")} - {None} == {profile}:
            places.append((role,))
        elif said.get("profile") == profile and "price" in keys:
            said.setdefault("price", deepcopy(keys["price"]))
    for place in places:
        if not _has_price_by_option(tree, place):
            tree.at(place).pop("price", None)


def _has_price_by_option(tree: YamlTree, place: tuple[str, ...]) -> bool:
    prices = [(*place, "price", *below) for below in ((), ("input",), ("output",))]
    return any(_is_set_by_option(tree, price) for price in prices)
