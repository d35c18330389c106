"""Classes by their counts: empty, of one image, missing from a split, of very different sizes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from vitlab.data.checks.finding import Finding, shown
from vitlab.data.checks.names import folded

RATIO = 10  # times: from here on the classes' sizes are called very different


def balance(tops: Mapping[str, Mapping[str, str]], counts: Mapping[tuple[str, str], int]) -> Iterator[Finding]:
    """Findings on classes; `tops` has the key of each class by split, `counts` the pictures by split and class."""
    classes = sorted({name for inner in tops.values() for name in inner})
    yield from _cases(classes, tops)
    for split, inner in tops.items():
        for name in classes:
            count = counts.get((split, name), 0)
            if name not in inner:
                there, key = next((where, held[name]) for where, held in tops.items() if name in held)
                never = ", so that it could never be learned" if split == "train" else ""
                yield Finding("class-missing", key, f"the class {shown(name)} of {there} is not in {split}{never}")
            elif count == 0:
                yield Finding("empty-class", inner[name], "the class has no image that can be read")
            elif count == 1 and split == "train":
                yield Finding("one-image", inner[name], "the class has one image; a test of it needs more")
    sizes = [
        (counts[split, name], name) for split, name in sorted(counts) if split == "train" and counts[split, name] > 1
    ]
    if sizes and max(sizes)[0] >= RATIO * min(sizes)[0]:
        (most, largest), (least, smallest) = max(sizes), min(sizes)
        sentence = (
            f"{shown(largest)} has {most:,} images, {shown(smallest)} {least:,}: {most / least:.0f} times as many"
        )
        yield Finding("imbalance", tops["train"][smallest], sentence, tops["train"][largest])


def count(places: Iterable[tuple[str, str]]) -> Counter[tuple[str, str]]:
    """Pictures by split and class."""
    return Counter(places)


def _cases(classes: list[str], tops: Mapping[str, Mapping[str, str]]) -> Iterator[Finding]:
    first: dict[str, str] = {}
    where = {name: inner[name] for inner in reversed(list(tops.values())) for name in inner}  # in train where it is
    for name in classes:
        if other := first.get(folded(name)):
            sentence = f"the classes {shown(other)} and {shown(name)} differ by case alone; are they one?"
            yield Finding("class-case", where[name], sentence, where[other])
        first.setdefault(folded(name), name)
