"""All that was found, as a person reads it and as a script does."""

import json
import textwrap
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vitlab.data.checks.finding import KINDS, SEVERITIES, Finding, shown

EXAMPLES = 3
_WIDTH = 110


@dataclass(frozen=True)
class Checked:
    """What was looked at, and the findings, the worst first."""

    data: str
    files: int
    pictures: int
    classes: int
    splits: Mapping[str, int]
    findings: Sequence[Finding]
    strict: bool = False
    written: Sequence[str] = field(default=(), compare=False)

    @property
    def by_kind(self) -> dict[str, list[Finding]]:
        """Findings of each kind that there is, the worst kind first."""
        found: dict[str, list[Finding]] = defaultdict(list)
        for one in sorted(self.findings, key=lambda one: (one.rank, one.key)):
            found[one.kind].append(one)
        return dict(found)

    @property
    def leave_out(self) -> list[str]:
        """Keys of the files that training is better off without, sorted."""
        return sorted({one.key for one in self.findings if one.leave_out})

    @property
    def exit_code(self) -> int:
        """1 where `--strict` was asked for and there are errors."""
        return int(self.strict and self.count("error") > 0)

    def count(self, severity: str) -> int:
        """How many findings there are of a severity."""
        return sum(one.severity == severity for one in self.findings)

    @property
    def summary(self) -> str:
        """What was looked at, in a sentence."""
        parts = ", ".join(f"{split} {number:,}" for split, number in self.splits.items())
        looked = f"{plural(self.files, 'file')} looked at, {plural(self.pictures, 'picture')} decoded"
        return f"{looked} in {plural(self.classes, 'class', 'classes')}" + (f" ({parts})" if parts else "")

    @property
    def verdict(self) -> str:
        """What to do about it, in a sentence or two."""
        kinds = {one.kind for one in self.findings}
        counts = [plural(self.count(severity), severity) for severity in SEVERITIES if self.count(severity)]
        said = [f"{', '.join(counts)}." if counts else "Nothing was found: the data are fit to train on."]
        if "refused" in kinds:
            said.append("Training refuses these data as they are.")
        if "leak" in kinds:
            said.append("Pictures are shared between splits: a test on them measures memory.")
        if "label-conflict" in kinds:
            said.append("Pictures have two labels: decide which is right.")
        if counts and not self.count("error"):
            said.append("Nothing keeps these data from being trained on.")
        return " ".join(said)

    def to_json(self) -> str:
        """Everything, for scripts; names that are no UTF-8 are escaped."""
        return json.dumps(
            {
                "data": self.data,
                "files": self.files,
                "pictures": self.pictures,
                "classes": self.classes,
                "splits": dict(self.splits),
                **{f"{severity}s": self.count(severity) for severity in SEVERITIES},
                "counts": {kind: len(found) for kind, found in self.by_kind.items()},
                "leave_out": self.leave_out,
                "findings": [
                    {
                        "kind": one.kind,
                        "severity": one.severity,
                        "file": one.key,
                        "says": one.sentence,
                        "other": one.other,
                        "leave_out": one.leave_out,
                    }
                    for found in self.by_kind.values()
                    for one in found
                ],
            }
        )

    def __str__(self) -> str:
        lines = [f"{shown(self.data)}: {self.summary}"]
        for severity in SEVERITIES:
            kinds = {kind: found for kind, found in self.by_kind.items() if KINDS[kind].severity == severity}
            if kinds:
                lines += ["", plural(self.count(severity), severity)]
            for kind, found in kinds.items():
                lines += _of_kind(kind, found)
        lines += ["", *textwrap.wrap(self.verdict, _WIDTH)]
        if self.leave_out and not any("to leave out" in line for line in self.written):
            lines.append(f"{plural(len(self.leave_out), 'file')} to leave out; --quarantine FILE writes the list")
        return "\n".join([*lines, *self.written])


def plural(number: int, one: str, many: str = "") -> str:
    """A count with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _of_kind(kind: str, found: list[Finding]) -> list[str]:
    """A heading with the count, and the first examples."""
    lines = [f"  {KINDS[kind].title} ({kind}): {len(found):,}"]
    if KINDS[kind].severity == "note":  # what is done is in the heading
        named = ", ".join(shown(one.key) for one in found[:EXAMPLES])
        return [*lines, f"    {named}" + (f" and {len(found) - EXAMPLES:,} more" if len(found) > EXAMPLES else "")]
    for one in found[:EXAMPLES]:
        lines += textwrap.wrap(
            f"{shown(one.key)}: {one.sentence}",
            _WIDTH,
            initial_indent="    ",
            subsequent_indent="      ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    if len(found) > EXAMPLES:
        lines.append(f"    and {len(found) - EXAMPLES:,} more")
    return lines
