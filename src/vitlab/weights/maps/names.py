"""What a library calls the parts of a plain Vision Transformer: the columns of its table."""

from dataclasses import dataclass, field

from vitlab.weights.maps.links import BATCHED, SAME, Form


@dataclass(frozen=True)
class Words:
    """How a library lays out the weight of one sort of layer, and what it calls weight and bias."""

    weight: str = "weight"
    bias: str = "bias"
    form: Form = SAME
    bias_form: Form = SAME


@dataclass(frozen=True)
class Names:
    """Their names; `{}` stands for weight or bias, and `block` begins every name in a block, `{}` being its number.

    None: the library has no such part. `qkv` is one name, or three where the projections are apart.
    """

    library: str
    patch: str
    cls: str
    position: str
    block: str
    norm1: str
    qkv: tuple[str, ...]
    proj: str
    norm2: str
    widen: str
    narrow: str
    norm: str
    head: str
    distillation: str | None = None
    registers: str | None = None
    scale1: str | None = None
    scale2: str | None = None
    pooled_norm: str | None = None
    head_distillation: str | None = None
    class_position: bool = False  # the class token has a position, registers have none
    tokens: Form = BATCHED
    positions: Form = BATCHED
    patches: Words = field(default_factory=Words)
    dense: Words = field(default_factory=Words)
    norms: Words = field(default_factory=Words)
    projections: Words = field(default_factory=Words)  # to queries, keys and values
    joining: Words = field(default_factory=Words)  # from the heads back
    unused: tuple[
        tuple[str, str], ...
    ] = ()  # patterns of names that a model for images does without, and what they are
