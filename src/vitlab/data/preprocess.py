"""How any picture becomes what the model was trained on: one frozen value, used by training, evaluation and predict.

Two steps. `fit` makes a uint8 tensor of the model's size and channels (resizing is done by Pillow, antialiased);
`normalise` makes floats of uint8, on whatever device: (x / 255 - mean) / std.
"""

from typing import Annotated, Literal, Self

import numpy as np
import torch
from jaxtyping import Float, UInt8
from numpy.typing import NDArray
from PIL import Image
from pydantic import BaseModel, ConfigDict, Field, model_validator
from torch import Tensor

from vitlab.data.blocks import Blocks
from vitlab.data.decode import Picture, in_channels
from vitlab.data.scale import resized
from vitlab.errors import UserError

_FILTERS = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}
_IN_CACHE = 1 << 18  # values that a core's cache holds while they are normalised: memory is what costs here
Side = Annotated[int, Field(ge=1, le=65_536)]


class Preprocess(BaseModel):
    """Size, crop, interpolation, channels, mean and standard deviation.

    The shorter side is scaled to the size over `crop` and the middle is cut out, so that nothing is stretched; with
    `shape="stretch"` each side is scaled by itself, as some published models were trained.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    size: tuple[Side, Side]
    channels: int = Field(default=3, ge=1)
    mean: tuple[float, ...]
    std: tuple[float, ...]
    crop: float = Field(default=1.0, ge=0.1, le=1)
    interpolation: Literal["bilinear", "bicubic"] = "bicubic"
    shape: Literal["keep", "stretch"] = "keep"
    stored: Side | None = Field(default=None, description="shorter side of what training cuts its crops from, at most")

    @model_validator(mode="after")
    def _one_figure_a_channel(self) -> Self:
        if not len(self.mean) == len(self.std) == self.channels:
            raise UserError(f"wants {self.channels} means and deviations, not {len(self.mean)} and {len(self.std)}")
        if min(self.std) <= 0:
            raise UserError("wants deviations above zero")
        return self

    def fit(self, picture: Picture) -> UInt8[Tensor, "channels X Y"]:
        """A picture of any size and mode as uint8 of the model's size and channels."""
        planes = [np.asarray(self._resize(plane)) for plane in in_channels(picture, self.channels)]
        return torch.from_numpy(np.stack(planes))

    def store(self, picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """A picture (rows, columns, channels) as training keeps it: whole, its shorter side `stored` at most."""
        rows, columns = picture.shape[:2]
        if self.stored is None or min(rows, columns) <= self.stored:
            return picture
        shrink = self.stored / min(rows, columns)
        size = max(round(rows * shrink), 1), max(round(columns * shrink), 1)
        return resized(picture, size)

    def normalise(
        self, images: UInt8[Tensor, "B channels X Y"], blocks: Blocks | None = None
    ) -> Float[Tensor, "B channels X Y"]:
        """uint8 to what the model takes; on a CPU in one of the blocks, where there are any."""
        if images.device.type != "cpu" or torch.compiler.is_compiling():
            mean, std = (torch.tensor(v, device=images.device).view(-1, 1, 1) for v in (self.mean, self.std))
            return (images / 255 - mean) / std
        found = torch.empty(images.shape) if blocks is None else blocks.empty(images.shape, torch.float32)
        # By numpy, on one core: torch's threads would wait for one another while the others cut the next crops.
        means, stds = (np.array(v, np.float32).reshape(-1, 1, 1) for v in (self.mean, self.std))
        some = max(_IN_CACHE // max(images[:1].numel(), 1), 1)
        for given, part in zip(images.split(some), found.split(some), strict=True):
            place = part.numpy()
            np.copyto(place, given.numpy())
            np.divide(place, np.float32(255), out=place)
            np.subtract(place, means, out=place)
            np.divide(place, stds, out=place)
        return found

    def _resize(self, plane: Image.Image) -> Image.Image:
        height, width = self.size
        if plane.size == (width, height) and self.crop == 1:
            return plane
        # The box of the picture that lands in the frame: its middle, `crop` of what would fit.
        across, down = plane.width / width, plane.height / height
        if self.shape == "keep":
            across = down = min(across, down)
        wide, high = width * across * self.crop, height * down * self.crop
        left, top = (plane.width - wide) / 2, (plane.height - high) / 2
        box = (left, top, left + wide, top + high)
        return plane.resize((width, height), _FILTERS[self.interpolation], box=box)
