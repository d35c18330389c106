"""vitlab predict: what a trained model sees in images."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vitlab.bundle_path import check_bundle
from vitlab.commands.flags import Images, RunPath
from vitlab.data.listing import images_at
from vitlab.errors import UserError

if TYPE_CHECKING:
    from vitlab.bundle import Prediction


@dataclass(frozen=True)
class Predictions:
    """A prediction for each file, in order."""

    files: tuple[Path, ...]
    predictions: tuple["Prediction", ...]
    top: int

    def to_json(self) -> str:
        import json

        rows = zip(self.files, self.predictions, strict=True)
        return json.dumps(
            [
                {
                    "file": str(file),
                    "label": found.label,
                    "probability": found.probability,
                    "probabilities": found.probabilities,
                }
                for file, found in rows
            ]
        )

    def __str__(self) -> str:
        return "\n".join(
            f"{file}  " + "  ".join(f"{label} {p:.1%}" for label, p in list(found.probabilities.items())[: self.top])
            for file, found in zip(self.files, self.predictions, strict=True)
        )


def predict(run: RunPath, images: Images, /, *, top: int = 3) -> Predictions:
    """Say what a trained model sees in images: the likeliest classes with their probabilities.

    Args:
        run: A run's folder or a bundle.
        images: Image files, or folders of them.
        top: How many classes to print for each image.
    """
    check_bundle(run)
    if top < 1:
        raise UserError(f"--top wants at least 1, not {top}")
    if not images:
        raise UserError("no images named; give files or folders after the run")
    images = tuple(Path(image) for image in ([images] if isinstance(images, str | Path) else images))
    files = [file for path in images for file in images_at(path)]
    if not files:
        raise UserError(f"no images in {', '.join(map(str, images))}")

    from vitlab.bundle import load

    return Predictions(tuple(files), tuple(load(run).predict(files)), top)
