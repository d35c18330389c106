"""What `examples.json` holds, checked: a few test images with the maps laid over them."""

from dataclasses import dataclass, field
from pathlib import Path

from vitlab.report.checked import read_json
from vitlab.report.picture import Picture, picture


@dataclass(frozen=True)
class Example:
    """One image, what it was called and what it is; its maps by the method's title."""

    where: str
    truth: str
    predicted: str
    probability: float
    png: str
    maps: dict[str, str] = field(default_factory=dict)

    @property
    def right(self) -> bool:
        """Whether it was named rightly."""
        return self.truth == self.predicted

    def pictures(self) -> list[tuple[str, Picture]]:
        """The image and its maps with their titles, those that can be shown."""
        named = [("the image", self.png), *self.maps.items()]
        return [(title, shown) for title, png in named if (shown := picture(png))]


@dataclass(frozen=True)
class Examples:
    """All of them."""

    examples: tuple[Example, ...]


def read_examples(path: Path) -> tuple[Example, ...]:
    """The examples of a run; none where there is no such file."""
    found = read_json(path, Examples, "examples of what a model looks at")
    return found.examples if found else ()
