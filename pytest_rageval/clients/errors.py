"""Why a model gave no answer: one exception for each kind. None of them ever holds a key.

::

    ClientError
    ├── AuthError           the key is missing or refused
    ├── QuotaError          the account has no credit left
    ├── RateLimitError      too many requests or tokens          asked again
    ├── CallTimeoutError    no answer in time                    asked again
    ├── ConnectionFailed    unreachable, reset, cut off          asked again
    ├── ServerError         5xx, or an answer that is no API's   asked again
    ├── BadRequestError     unknown model, text too long, ...
    ├── RefusedError        a content filter, or the model declines
    ├── TruncatedError      the reply ends at max_tokens         asked again, `reasks` times (2)
    ├── InvalidOutputError  the reply is not what was asked for  asked again, `reasks` times (2)
    ├── BudgetError         the run's budget is spent
    ├── ReplayMissError     replay finds no such reply in the cache
    ├── NotAskedError       too many replies in a row could not be used
    └── LocalModelError     a model in this process failed
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pytest_rageval.errors import RagevalError


class ClientError(RagevalError):
    """A call that gave no answer. Its text says which model, what happened and what to do.

    ``is_transient``: the same call may succeed later. ``retry_after_s`` is what the server asked
    to wait, None where it did not say. ``attempts`` counts the attempts (what a provider sends
    again at once, AskAgain, is part of one) and ``gave_up`` says why there were no more, where the
    count alone does not tell. ``faults`` counts the replies that could not be used, by what was
    wrong (``model.FAULTS``). ``uses_up_a_retry``: it counts towards ``retries``; rate limits do
    not, nor do timeouts that fewer requests in flight may cure. A server that is not there, or
    answers with HTTP 503, ``may_be_starting``. ``status`` is that of HTTP, 0 without one; ``said``
    is the server's own message in lower case: it tells a provider that sent an optional parameter
    whether that is the one refused. ``last_resort`` is called before the call is given up, and
    returns whether it is worth another request, put differently. ``billed`` are the tokens, of
    prompt and reply, that the server states for a reply that is none.
    """

    uses_up_a_retry = True

    def __init__(
        self, message: str, *, is_transient: bool = False, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.is_transient = is_transient
        self.retry_after_s = retry_after_s
        self.attempts = 1
        self.gave_up = ""
        self.faults: Mapping[str, int] = {}
        self.may_be_starting = False
        self.status = 0
        self.said = ""
        self.last_resort: Callable[[], bool] = lambda: False
        self.billed: tuple[int, int] | None = None

    def __str__(self) -> str:
        if self.attempts == 1 and not self.gave_up:
            return self.message
        count = f"{self.attempts} attempt{'s' if self.attempts > 1 else ''}"
        return f"{self.message} ({'; '.join(filter(None, [count, self.gave_up]))})"


class AuthError(ClientError):
    """The key is missing, or the server does not accept it."""


class QuotaError(ClientError):
    """The account's credit is used up; waiting does not help."""


class RateLimitError(ClientError):
    """The server takes no more requests for now."""

    uses_up_a_retry = False


class CallTimeoutError(ClientError):
    """The server did not answer in time.

    ``if_alone`` is the message to use if no other request was in flight.
    """

    is_alone = False

    def __init__(self, message: str, *, is_transient: bool = False, if_alone: str = "") -> None:
        super().__init__(message, is_transient=is_transient)
        self._if_alone = if_alone

    def set_alone(self) -> None:
        """Note that no other request was in flight: it waited for none of ours."""
        self.is_alone = True
        self.message = self._if_alone or self.message


class ConnectionFailed(ClientError):  # noqa: N818  (ConnectionError is Python's own)
    """The server cannot be reached, or the connection broke before the answer was whole."""


class ServerError(ClientError):
    """The server failed, or what it answered is not in the API's form."""


class BadRequestError(ClientError):
    """The server cannot serve this request, however often it is sent."""


class RefusedError(ClientError):
    """A content filter stopped the request or the reply, or the model declines to answer."""


class TruncatedError(ClientError):
    """The reply ends where max_tokens cut it."""


class InvalidOutputError(ClientError):
    """The reply is not what was asked for, for instance not the JSON of the schema."""


class BudgetError(ClientError):
    """The run's budget is spent; nothing more is asked."""


class ReplayMissError(ClientError):
    """Replay sends no requests, and the cache has no answer to this one."""


class NotAskedError(ClientError):
    """Too many replies of this model in a row could not be used: it is not asked any more."""


def hide_in(error: RagevalError, hide: Callable[[str], str]) -> None:
    """Hide secrets in what an error says; it keeps its class, by which it is told apart."""
    error.args = tuple(hide(one) if isinstance(one, str) else one for one in error.args)
    if isinstance(error, ClientError):
        error.message = hide(error.message)


class LocalModelError(ClientError):
    """A model in this process, or the user's function, failed or gave vectors of no use."""


class AskAgain(Exception):  # noqa: N818  (a signal between a provider and the retry loop)
    """The provider has learnt what this server accepts: send the request again at once.

    It never leaves this layer: ``refused`` is what is raised where no lesson helps.
    """

    def __init__(self, refused: ClientError) -> None:
        super().__init__(str(refused))
        self.refused = refused
