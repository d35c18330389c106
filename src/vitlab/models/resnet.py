"""The residual network (He et al. 2016), the CNN that a ViT is compared with.

    image -> stem -> stage x 4 (the first unit of each but the first halves the map and doubles the width)
          -> mean of the last map -> linear -> logits

Weights have torchvision's names, so that its checkpoints fit as they are.
"""

from typing import Annotated, Literal

from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from vitlab.models.blueprint import Blueprint, Features, Layers, Model
from vitlab.parts.init import Init, Normal
from vitlab.parts.stem import Stem, Wide, halved
from vitlab.parts.unit import Basic, Unit

Pair = tuple[int, int]
Depth = Annotated[int, Field(ge=1, le=1_024)]


class ResNet(Blueprint):
    """A residual network of four stages; the defaults are ResNet-18."""

    kind: Literal["resnet"] = "resnet"

    width: int = Field(default=64, ge=1, le=8_192, description="of the stem and, in the middle, of the first stage")
    depths: tuple[Depth, Depth, Depth, Depth] = Field(default=(2, 2, 2, 2), description="units of each stage")
    stem: Stem = Wide()
    unit: Unit = Basic()
    init: Init = Normal()

    @property
    def widths(self) -> tuple[int, ...]:
        """Channels of the map that each stage gives."""
        return tuple(self.width * 2**stage * self.unit.expansion for stage in range(len(self.depths)))

    @property
    def grids(self) -> tuple[Pair, ...]:
        """Rows and columns of each of these maps."""
        found = [self.stem.grid(self.image)]
        while len(found) < len(self.depths):
            found.append(halved(found[-1]))
        return tuple(found)

    def build(self) -> Model:
        return ResidualNetwork(self)


class ResidualNetwork(Model):
    """The module of a `ResNet` blueprint."""

    def __init__(self, blueprint: ResNet) -> None:
        super().__init__()
        self.blueprint = blueprint
        self.conv1 = blueprint.stem.convolution(blueprint.channels, blueprint.width)
        self.bn1 = nn.BatchNorm2d(blueprint.width)
        self.relu = nn.ReLU()
        self.maxpool = blueprint.stem.shrink()
        channels = blueprint.width
        stages = []
        for stage, (depth, last) in enumerate(zip(blueprint.depths, blueprint.widths, strict=True)):
            units = []
            for place in range(depth):
                stride = 2 if stage > 0 and place == 0 else 1
                units.append(blueprint.unit.build(channels, blueprint.width * 2**stage, stride))
                channels = last
            stages.append(nn.Sequential(*units))
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.fc = nn.Linear(channels, blueprint.classes) if blueprint.classes else nn.Identity()
        blueprint.init.start(self)

    def scales(self, images: Float[Tensor, "B channels X Y"]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The maps of features of the four stages, (B, width, rows, columns), finest first."""
        one = self.layer1(self.maxpool(self.relu(self.bn1(self.conv1(images)))))
        two = self.layer2(one)
        three = self.layer3(two)
        return one, two, three, self.layer4(three)

    def features(self, images: Float[Tensor, "B channels X Y"]) -> Features:
        last = self.scales(images)[-1]
        grid = (last.shape[2], last.shape[3])
        return Features(last.flatten(2).transpose(1, 2), grid, last.mean(dim=(2, 3)))

    def forward(self, images: Float[Tensor, "B channels X Y"]) -> Float[Tensor, "B classes"]:
        logits: Tensor = self.fc(self.features(images).pooled)
        return logits

    @property
    def layers(self) -> Layers:
        units = (*self.layer1, *self.layer2, *self.layer3, *self.layer4)
        return Layers((self.conv1, self.bn1), units, (), (self.fc,))
