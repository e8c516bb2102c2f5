"""Workers within this process that reply in an order, and fail where, a test says."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future

from pytest_rageval.engine.remote.packing import unpack_samples

Job = tuple[Future[bytes], Callable[..., bytes], tuple[object, ...]]


class ScriptedWorkers:
    """Replies when all of ``total`` samples were sent, in an order; what comes again, at once.

    ``order`` are numbers by which the chunks are sorted; ``failing`` are the chunks, by their
    number, that fail the first time, ``lost`` those that always fail.
    """

    shown = "scripted://"

    def __init__(
        self,
        total: int,
        order: Sequence[int] = (),
        failing: Collection[int] = (),
        lost: Collection[int] = (),
    ) -> None:
        self.count = 1000
        self.sent: list[list[str]] = []
        """The names of the samples in each chunk, in the order of sending."""
        self._left = total
        self._order = order
        self._failing = failing
        self._lost = lost
        self._jobs: list[Job] = []
        self._known: dict[bytes, int] = {}
        self.closed = 0

    def submit(self, function: Callable[..., bytes], *given: object) -> Future[bytes]:
        """Keep the call until all are there."""
        packed = given[2]
        assert isinstance(packed, bytes)
        names = [sample.id for sample in unpack_samples(packed)]
        future: Future[bytes] = Future()
        job = (future, function, given)
        if not names:  # whether the metrics are there
            self._reply(job, -1, is_first=True)
            return future
        self.sent.append(names)
        if packed in self._known:
            self._reply(job, self._known[packed], is_first=False)
            return future
        self._known[packed] = len(self._known)
        self._jobs.append(job)
        self._left -= len(names)
        if self._left == 0:
            self._reply_to_all()
        return future

    def _reply_to_all(self) -> None:
        keys = [*self._order, *range(len(self._jobs))]
        for at in sorted(range(len(self._jobs)), key=lambda at: (keys[at], at)):
            self._reply(self._jobs[at], at, is_first=True)

    def _reply(self, job: Job, at: int, *, is_first: bool) -> None:
        future, function, given = job
        if at in self._lost or (is_first and at in self._failing):
            future.set_exception(ConnectionError("the worker is gone"))
        else:
            future.set_result(function(*given))

    def trouble(self) -> str:
        """Return "": something is always on its way."""
        return ""

    def close(self) -> None:
        """Count how often it was closed."""
        self.closed += 1


class PromptWorkers(ScriptedWorkers):
    """Reply to each chunk at once; what the function raises is the future's exception."""

    def __init__(self) -> None:
        super().__init__(0)

    def submit(self, function: Callable[..., bytes], *given: object) -> Future[bytes]:
        """Call the function."""
        packed = given[2]
        assert isinstance(packed, bytes)
        names = [sample.id for sample in unpack_samples(packed)]
        future: Future[bytes] = Future()
        self.sent += [names] if names else []
        try:
            future.set_result(function(*given))
        except ConnectionError as error:
            future.set_exception(error)
        return future


class SilentWorkers(ScriptedWorkers):
    """Never reply to a chunk; after a while they are known to be gone, if ``trouble_text`` is."""

    def __init__(self, trouble_text: str = "") -> None:
        super().__init__(10**9)
        self._text = trouble_text

    @property
    def waiting(self) -> list[Future[bytes]]:
        """What was never answered."""
        return [future for future, _, _ in self._jobs]

    def trouble(self) -> str:
        """Return why nothing will come."""
        return self._text
