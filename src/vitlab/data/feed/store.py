"""Where decoded pictures are kept between two epochs."""

from abc import ABC, abstractmethod

from vitlab.data.feed.feed import Picture


class Store(ABC):
    """Pictures by position. Several threads ask at once; of two that put the same picture, one is enough."""

    @abstractmethod
    def get(self, position: int) -> Picture | None:
        """What is kept there, if anything is."""

    @abstractmethod
    def put(self, position: int, picture: Picture) -> None:
        """Keep it, if there is room."""


class Nowhere(Store):
    """Keeps nothing: every picture is decoded each time, and memory stays as it is however many there are."""

    def get(self, position: int) -> Picture | None:
        return None

    def put(self, position: int, picture: Picture) -> None:
        pass


class InMemory(Store):
    """Keeps everything."""

    def __init__(self) -> None:
        self.held: dict[int, Picture] = {}

    def get(self, position: int) -> Picture | None:
        return self.held.get(position)

    def put(self, position: int, picture: Picture) -> None:
        self.held[position] = picture
