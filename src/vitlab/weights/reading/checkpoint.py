"""What a file of weights holds, known before it is read: names, shapes, and a way to read those that are wanted."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from torch import Tensor

Shape = tuple[int, ...]
Read = Callable[[Iterable[str]], dict[str, Tensor]]

_WRAPPERS = ("module.", "_orig_mod.", "state_dict.", "model_state_dict.")


@dataclass(frozen=True)
class Checkpoint:
    """Tensors of a file or of several, by name."""

    path: Path
    shapes: Mapping[str, Shape]
    read: Read

    @property
    def names(self) -> set[str]:
        return set(self.shapes)

    def renamed(self, word: Callable[[str], str]) -> Self:
        """The same tensors under other names."""
        theirs = {word(name): name for name in self.shapes}

        def read(names: Iterable[str]) -> dict[str, Tensor]:
            asked = {theirs[name]: name for name in names}
            return {asked[name]: tensor for name, tensor in self.read(asked).items()}

        return replace(self, shapes={new: self.shapes[old] for new, old in theirs.items()}, read=read)

    def unwrapped(self) -> Self:
        """Without the words that data-parallel training and compilation put before every name."""
        found = self
        for wrapper in (*_WRAPPERS, *_WRAPPERS):
            if found.shapes and all(name.startswith(wrapper) for name in found.shapes):
                found = found.renamed(lambda name, wrapper=wrapper: name.removeprefix(wrapper))  # type: ignore[misc]
        return found
