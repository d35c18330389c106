"""Watching the attention of any model from outside: hooks on the cores, fast kernels on, not a bit of the logits moved.

    with recording(model, layers=(-1,)) as seen:
        logits = model(images)
    seen[-1].map                       # (B, H, N, M): who looked at whom

A hook keeps the queries, keys and values that a core was given; the map is made of them when it is asked for, by
`core.map`. Only the chosen layers cost memory. With `gradients=True` their outputs are kept too, and

    dL/dA = dL/dO V^T,    since O = A V,

so that the gradient of a map needs no map in the graph. Meanwhile the model is in evaluation mode and anything
compiled runs as it was written, since hooks do not fire in compiled code; all of it is put back, come what may.
"""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vitlab.errors import UserError
from vitlab.parts.attention import CoreModule, CrossAttention
from vitlab.parts.pool import PoolModule

Pair = tuple[int, int]


@dataclass(frozen=True)
class Place:
    """Where an attention layer is in a model."""

    layer: int
    name: str  # the path of the attention, such as blocks.3.attention
    attention: nn.Module
    core: CoreModule
    block: nn.Module


@dataclass
class Seen:
    """What one attention layer saw in the last forward pass."""

    place: Place
    grid: Pair
    q: Float[Tensor, "B H N E"]
    k: Float[Tensor, "B H M E"]
    v: Float[Tensor, "B H M E"]
    bias: Tensor | None
    output: Float[Tensor, "B H N E"] | None = None  # kept for gradients
    tokens: Float[Tensor, "B N D"] | None = None  # what the block made of them

    @property
    def prefix(self) -> int:
        """Tokens before the patches."""
        return self.q.shape[2] - self.grid[0] * self.grid[1]

    @property
    def map(self) -> Float[Tensor, "B H N M"]:
        """Who looked at whom."""
        with torch.no_grad():
            return self.place.core.map(self.q, self.k, self.bias)


@dataclass
class Recording:
    """The chosen layers in order, and what the pool read; each forward pass writes over the one before."""

    places: tuple[Place, ...]
    layers: dict[int, Seen] = field(default_factory=dict)
    pool: PoolModule | None = None
    pooled: Tensor | None = None

    def __iter__(self) -> Iterator[Seen]:
        return iter([self.layers[place.layer] for place in self.places])

    def __getitem__(self, position: int) -> Seen:
        return list(self)[position]

    def __len__(self) -> int:
        return len(self.places)

    @property
    def reading(self) -> Float[Tensor, "B N"]:
        """The share of each token of the last layer in what the head read."""
        if self.pool is None or self.pooled is None:
            raise UserError(
                "this model's pool does not say which tokens it reads, so nothing can be traced back to them"
            )
        with torch.no_grad():
            return self.pool.weights(self.pooled)

    def map_gradients(self, score: Tensor) -> list[Float[Tensor, "B H N M"]]:
        """d score / d map for each chosen layer; `score` is a sum over images, each of which has its own part of it."""
        outputs = [seen.output for seen in self]
        gradients = torch.autograd.grad(score, [output for output in outputs if output is not None])
        return [gradient @ seen.v.detach().transpose(-2, -1) for gradient, seen in zip(gradients, self, strict=True)]


@contextlib.contextmanager
def recording(
    model: nn.Module, layers: Sequence[int] | None = None, *, gradients: bool = False, tokens: bool = False
) -> Iterator[Recording]:
    """Record every forward pass in this context; `model` itself is to be called, or what it was compiled to."""
    seen = Recording(choose(attention_layers(model), layers))
    with evaluating(model), contextlib.ExitStack() as hooks:
        for place in seen.places:
            for handle in _watch(place, seen, gradients, tokens):
                hooks.callback(handle.remove)
        seen.pool = next((module for module in model.modules() if isinstance(module, PoolModule)), None)
        if seen.pool is not None:

            def note(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
                seen.pooled = inputs[0].detach()

            hooks.callback(seen.pool.register_forward_pre_hook(note).remove)
        yield seen


@contextlib.contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """The model in evaluation mode and uncompiled; afterwards every module as it was."""
    training = [module for module in model.modules() if module.training]
    with contextlib.ExitStack() as stack:
        if "torch._dynamo" in sys.modules:  # else nothing was compiled, and importing it would cost seconds
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        try:
            model.eval()
            yield
        finally:
            for module in training:
                module.training = True


def attention_layers(model: nn.Module) -> tuple[Place, ...]:
    """Where a model attends over its tokens, first to last; a pool that attends is no layer."""
    modules = dict(model.named_modules())
    found: list[Place] = []
    for name, core in modules.items():
        above = name.rpartition(".")[0]
        if isinstance(core, CoreModule) and not isinstance(modules[above], CrossAttention):
            block = modules[above.rpartition(".")[0]]
            found.append(Place(len(found), above.replace("_orig_mod.", ""), modules[above], core, block))
    return tuple(found)


def choose(places: tuple[Place, ...], layers: Sequence[int] | None) -> tuple[Place, ...]:
    """The layers asked for, in the model's order; negative numbers count from the end."""
    if not places:
        raise UserError("this model has no attention to look at")
    if layers is None:
        return places
    for layer in layers:
        if not -len(places) <= layer < len(places):
            raise UserError(f"no layer {layer}: this model has {len(places)}, numbered from 0 to {len(places) - 1}")
    wanted = {layer % len(places) for layer in layers}
    return tuple(place for place in places if place.layer in wanted)


def _watch(place: Place, seen: Recording, gradients: bool, tokens: bool) -> list[torch.utils.hooks.RemovableHandle]:
    """The hooks of one layer."""

    def note_grid(_: nn.Module, inputs: tuple[Tensor, Pair]) -> None:
        grids.append(inputs[1])

    def note(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor | None:
        q, k, v, *rest = (None if each is None else each.detach() for each in inputs)
        assert q is not None, "a core was called without queries"
        assert k is not None
        assert v is not None
        seen.layers[place.layer] = noted = Seen(place, grids.pop(), q, k, v, rest[0] if rest else None)
        if not gradients or not torch.is_grad_enabled():
            return None
        # With every weight frozen there is no graph yet: it begins here, with the same numbers.
        begun = output if output.requires_grad else output.detach().requires_grad_()
        noted.output = begun
        return begun

    def note_tokens(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        seen.layers[place.layer].tokens = output.detach()

    grids: list[Pair] = []
    handles = [place.attention.register_forward_pre_hook(note_grid), place.core.register_forward_hook(note)]
    if tokens:
        handles.append(place.block.register_forward_hook(note_tokens))
    return handles
