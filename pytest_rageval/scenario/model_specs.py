"""The models of a scenario file: the judge, the embedding, and the profiles that they may name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from pytest_rageval.errors import unknown_name
from pytest_rageval.scenario.spec import Amount, Count, Name, Seconds, Spec, Text, Whole


class PriceSpec(Spec):
    """US dollars per million tokens."""

    short_form = "input"

    input: Amount
    output: Amount = 0.0


class ModelSpec(Spec):
    """A model and how it is asked; a bare name is its model."""

    short_form: ClassVar[str | None] = "model"

    model: Name
    provider: Name = "openai"
    base_url: Name | None = Field(None, description="of an OpenAI-compatible server, with /v1")
    api_key_env: Name | None = Field(
        None, description="the environment variable that holds the key, never the key itself"
    )
    headers: dict[str, Text] = Field({}, description="values may say ${NAME} of the environment")
    extra_body: dict[str, Any] = Field({}, description="added to every request")
    concurrency: Whole = Field(32, ge=1, le=1024, description="calls in flight, over all workers")
    rpm: Count | None = Field(None, description="requests per minute")
    tpm: Count | None = Field(None, description="tokens per minute")
    timeout_s: Seconds = 60.0
    retries: Whole = Field(4, ge=0, le=20)
    max_wait_s: Amount = 120.0
    price: PriceSpec | None = Field(None, description="USD per million tokens, for the cost")

    @model_validator(mode="before")
    @classmethod
    def _profile_is_filled_in(cls, data: Any) -> Any:
        """Refuse a profile that the scenario did not replace by what stands under ``models``."""
        if isinstance(data, dict) and "profile" in data:
            name = data["profile"]
            known = name.known if isinstance(name, _UnknownProfile) else ()
            raise ValueError(f"{unknown_name('profile', str(name), known)} (under 'models')")
        return data

    @field_validator("base_url")
    @classmethod
    def _base_url_is_one(cls, url: str | None) -> str | None:
        """Refuse what is no URL; the message never quotes it, for it may hold a password."""
        if url is not None and not url.startswith(("http://", "https://")):
            raise ValueError("expected a URL that begins with http:// or https://")
        try:
            if url is not None and urlsplit(url).port == 0:
                raise ValueError
        except ValueError:
            raise ValueError("expected a URL like http://127.0.0.1:8000/v1") from None
        return url

    @field_validator("api_key_env")
    @classmethod
    def _key_is_named(cls, name: str | None) -> str | None:
        if name is not None and not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise ValueError("expected the NAME of an environment variable, not the key itself")
        return name

    @property
    def key_variable(self) -> str | None:
        """The variable that holds the key; that of OpenAI is sent to OpenAI only, unless named."""
        is_openai = self.provider == "openai" and self.base_url is None
        return self.api_key_env or ("OPENAI_API_KEY" if is_openai else None)


class JudgeSpec(ModelSpec):
    """The model that judges."""

    temperature: Amount | None = 0.0
    max_tokens: Count | None = None
    seed: Whole | None = None
    form: Literal["auto", "json_schema", "json_object", "text"] = "auto"
    reasks: Whole = Field(2, ge=0, le=10, description="after replies that cannot be used")
    language: Name = Field("auto", description="of the prompts: auto, en, zh")
    repeats: Whole = Field(1, ge=1, le=100, description="ask each judged metric so often")


class EmbeddingSpec(ModelSpec):
    """The model that turns texts into vectors."""

    batch_size: Whole = Field(64, ge=1)


class ProfileSpec(JudgeSpec):
    """A model under ``models``, whose name is also its model when it gives none; for any role."""

    short_form: ClassVar[str | None] = None

    model: Name = Field("", description="the name of the profile when absent")
    batch_size: Whole = Field(64, ge=1)

    @model_validator(mode="before")
    @classmethod
    def _profile_is_filled_in(cls, data: Any) -> Any:
        """A profile names no other one: leave the key to be found unknown."""
        return data


class _UnknownProfile(str):
    """The name of a profile that does not exist, with the ``known`` ones."""

    def __new__(cls, name: Any, known: Iterable[str]) -> Self:
        made = super().__new__(cls, name)
        made.known = tuple(known)
        return made

    known: tuple[str, ...]


def with_profile(given: Any, profiles: dict[str, Any]) -> Any:
    """Return a role with what its profile holds beside; what the role itself says comes first.

    One that names no profile comes back as it is. A profile that does not exist stays in place, for
    the validation of the role to name.
    """
    own = given if isinstance(given, dict) else {"model": given}
    name = own.get("profile", own.get("model"))
    profile = profiles.get(name) if isinstance(name, str) else None
    if not isinstance(profile, dict):
        return {**own, "profile": _UnknownProfile(name, profiles)} if "profile" in own else given
    rest = {key: value for key, value in own.items() if key != "profile"}
    if rest.get("model") == name:
        del rest["model"]
    inherited = {key: value for key, value in profile.items() if key != "profile"}
    return {"model": name, **inherited, **rest}
