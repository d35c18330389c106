"""Where a bundle is: in a run's folder, or the path itself. Nothing heavy is imported to say that there is none."""

from pathlib import Path

from vitlab.errors import UserError

CARD, WEIGHTS = "model.json", "model.safetensors"


def check_bundle(path: str | Path) -> Path:
    """The bundle's folder, or one sentence when there is no bundle."""
    path = Path(path)
    if not path.exists():
        raise UserError(f"no run or bundle at {path}")
    if not path.is_dir():
        raise UserError(f"{path} is a file; give a run's folder or a bundle")
    for found in (path / "bundle", path):
        if (found / CARD).is_file():
            return found
    if (path / "config.json").is_file():
        raise UserError(f"{path} is another library's folder; `vitlab convert {path} FOLDER` makes a bundle of it")
    raise UserError(f"{path} holds no bundle: there is no {CARD} in it or in its folder bundle/; train a model first")
