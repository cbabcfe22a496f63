"""Engines run trials; a schedule says which one may start, and when. Results never depend on the engine."""

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

Request = TypeVar("Request")
Result = TypeVar("Result")
Request_co = TypeVar("Request_co", covariant=True)


class Schedule(Protocol[Request_co]):
    """Hands out requests one by one. It is asked again after every result, so it can answer to results."""

    def take(self) -> Request_co | None:
        """The next request to start now; None if there is none at this moment."""
        ...

    def wait(self) -> float | None:
        """Seconds until `take` may have one though no result came; None if only a result can change that."""
        ...


class Engine(Protocol):
    """Runs a function over the requests of a schedule, several at once."""

    def map_unordered(self, function: Callable[[Request], Result], schedule: Schedule[Request]) -> Iterator[Result]:
        """Yield each result as it comes. `function` must not raise; if it does, the error is raised here."""
        ...

    def wake(self) -> None:
        """Make the iteration ask its schedule again at once; callable from a signal handler."""
        ...
