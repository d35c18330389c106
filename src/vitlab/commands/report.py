"""vitlab report: the page about a run, made again from what the run left."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from vitlab.commands.flags import RunPath
from vitlab.commands.going_on import underway
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

    Of a run that has not ended it says so, with the curves so far.

    Args:
        run: A run's folder.
    """
    run = Path(run)
    if not run.is_dir():
        raise UserError(f"no run at {run}" if not run.exists() else f"{run} is a file; give the run's folder")
    if not (run / "config.yaml").is_file():
        raise UserError(f"{run} holds no run: there is no config.yaml in it")

    from vitlab.report import page

    return Page(page.write(run) if (run / "evaluation.json").is_file() else _unfinished(run))


def _unfinished(run: Path) -> Path:
    """A page that a process which trains the run draws anew, or that says when the run was broken off."""
    from vitlab.report import page
    from vitlab.report.facts import read
    from vitlab.report.live import Live
    from vitlab.report.wording import moment

    facts, now = read(run), datetime.now().astimezone()
    last = facts.epochs[-1].epoch if facts.epochs else None
    share = (last - 1) / facts.planned if last and facts.planned else None
    known: dict[str, Any] = {"epoch": last, "epochs": facts.planned, "share": share}
    if underway(run):
        return page.write_live(facts, Live(run, "training", now, **known))
    log = run / "metrics.csv"
    said = "broken off before its first step"
    if last:
        heard = datetime.fromtimestamp(log.stat().st_mtime).astimezone()
        said = f"broken off in epoch {last}, last heard of on {moment(heard.isoformat())}"
    return page.write_live(facts, Live(run, "stopped", now, **known, said=said))
