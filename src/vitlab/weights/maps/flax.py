"""The names in the original `.npz` files (ViT, AugReg): Flax lays matrices out the other way."""

from vitlab.weights.maps.links import ROWS_COLUMNS_IN_OUT, SAME, TURNED, Form
from vitlab.weights.maps.names import Names, Words


def names(heads: int) -> Names:
    """The table; projections keep their heads apart: (width, heads, E) to queries, (heads, E, width) back."""
    to_heads = Form(lambda x: x.flatten(1).T, lambda x: x.T.unflatten(1, (heads, -1)))
    of_heads = Form(lambda x: x.flatten(), lambda x: x.unflatten(0, (heads, -1)))
    from_heads = Form(lambda x: x.flatten(0, 1).T, lambda x: x.T.unflatten(0, (heads, -1)))
    attention = "MultiHeadDotProductAttention_1/"
    return Names(
        library="the original Flax code",
        patch="embedding/{}",
        cls="cls",
        position="Transformer/posembed_input/pos_embedding",
        block="Transformer/encoderblock_{}/",
        norm1="LayerNorm_0/{}",
        qkv=tuple(f"{attention}{part}/{{}}" for part in ("query", "key", "value")),
        proj=f"{attention}out/{{}}",
        norm2="LayerNorm_2/{}",
        widen="MlpBlock_3/Dense_0/{}",
        narrow="MlpBlock_3/Dense_1/{}",
        norm="Transformer/encoder_norm/{}",
        head="head/{}",
        patches=Words("kernel", "bias", ROWS_COLUMNS_IN_OUT),
        dense=Words("kernel", "bias", TURNED),
        norms=Words("scale", "bias"),
        projections=Words("kernel", "bias", to_heads, of_heads),
        joining=Words("kernel", "bias", from_heads, SAME),
    )


def is_flax(names: set[str]) -> bool:
    """Whether arrays of these names are one of the original files."""
    return {"embedding/kernel", "Transformer/encoder_norm/scale"} <= names
