"""vitlab report: the page about a run, made again from what the run left."""

from dataclasses import dataclass
from pathlib import Path

from vitlab.commands.flags import RunPath
from vitlab.errors import UserError


@dataclass(frozen=True)
class Page:
    """Where the page is."""

    path: Path

    def to_json(self) -> str:
        import json

        return json.dumps({"report": str(self.path)})

    def __str__(self) -> str:
        return str(self.path)


def report(run: RunPath, /) -> Page:
    """Write the page about a run again: one HTML file with curves, confusion, mistakes, costs and the command.

    Args:
        run: A run's folder.
    """
    run = Path(run)
    if not run.is_dir():
        raise UserError(f"no run at {run}" if not run.exists() else f"{run} is a file; give the run's folder")
    if not (run / "config.yaml").is_file():
        raise UserError(f"{run} holds no run: there is no config.yaml in it")

    from vitlab.report import page

    return Page(page.write(run))
