"""Images explained one by one, and what is written about them: two pictures each, and one page for all."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vitlab.commands.own_data import same_classes
from vitlab.files import replacing, saying_why, write_text

if TYPE_CHECKING:
    import torch

    from vitlab.bundle import Bundle
    from vitlab.data.memory import Pictures
    from vitlab.explain.explanation import Explanation
    from vitlab.explain.methods.method import Method

MOST = 48  # images of one page: more would not open on a phone
Named = tuple[str, "torch.Tensor", str | None]  # what it is called, the image as the model takes it, the truth if known
Where = tuple[str | None, str, Path | None, bool]  # the data, the split, the root, whether to fetch


@dataclass(frozen=True)
class Explanations:
    """An explanation for each image, in order, and where pictures and page were written, if they were."""

    found: tuple["Explanation", ...]
    page: Path | None = None
    pictures: tuple[Path, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, position: int) -> "Explanation":
        return self.found[position]

    def __iter__(self) -> Iterator["Explanation"]:
        return iter(self.found)

    def to_json(self) -> str:
        import json

        written = {"page": self.page and str(self.page), "pictures": [str(path) for path in self.pictures]}
        return json.dumps({"images": [each.facts() for each in self.found], **written})

    def __str__(self) -> str:
        lines = [f"{each.where}  {each.summary}" for each in self.found]
        for name, why in {name: why for each in self.found for name, why in each.refused.items()}.items():
            lines.append(f"  no {name}: {why}")
        if self.pictures:
            lines.append(f"pictures  {self.pictures[0].parent} ({len(self.pictures)} files)")
        if self.page:
            lines.append(f"page      {self.page}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from vitlab.notebook import picture

        shown = [(each._repr_png_(), repr(each)) for each in self.found]
        return "".join(picture(png, words) for png, words in shown)


def explain_each(
    bundle: "Bundle",
    named: Iterable[Named],
    methods: Sequence["Method"],
    target: str | None,
    all_heads: bool,
    folder: Path | None,
) -> Explanations:
    """Each image explained; written to the folder where there is one."""
    from vitlab.explain.look import look

    found = tuple(
        look(bundle, image, where, methods, target=target, truth=truth, all_heads=all_heads)
        for where, image, truth in named
    )
    return Explanations(found) if folder is None else _written(bundle, found, folder)


def of_files(bundle: "Bundle", images: Sequence[Any]) -> Iterator[Named]:
    """Files decoded, pictures and arrays as they are."""
    from vitlab.data.decode import decode

    for i, image in enumerate(images):
        is_file = isinstance(image, Path)
        yield (
            (str(image) if is_file else f"image {i}"),
            bundle.card.preprocess.fit(decode(image) if is_file else image),
            None,
        )


def of_data(bundle: "Bundle", where: Where, count: int) -> Iterator[Named]:
    """Some of the data: half of them answered wrongly where there are so many, the surest first; the rest rightly."""
    from vitlab.explain.choose import right_and_wrong

    pictures = opened(bundle, where)
    for i in right_and_wrong(bundle, pictures, count):
        yield pictures.keys[i], pictures.images[i], bundle.classes[int(pictures.labels[i])]


def opened(bundle: "Bundle", where: Where, split: str | None = None) -> "Pictures":
    """The split of the data that was asked for, or another, fitted to the model."""
    from vitlab.data import memory

    data, asked, root, fetch = where
    source = same_classes(bundle, data, root, fetch, None)
    return memory.load(source.splits[split or asked], bundle.card.preprocess)


def _written(bundle: "Bundle", found: tuple["Explanation", ...], folder: Path) -> Explanations:
    """Two pictures an image and one page; other files in the folder stay as they are."""
    from vitlab.explain.drawing import overlays
    from vitlab.explain.drawing.scales import scales
    from vitlab.report import explain_page

    drawn: dict[str, bytes | None] = {}
    for i, each in enumerate(found):
        name = f"{i + 1:02}-{_plain(each.where)}"
        drawn[f"{name}-methods.png"] = overlays.methods(each)
        drawn[f"{name}-heads.png"] = overlays.heads(each)
        drawn[f"{name}-scales.png"] = scales(each)
    pictures = put(folder, drawn)
    write_text(folder / "page.html", explain_page.render(bundle.card.blueprint.name, found))
    return Explanations(found, folder / "page.html", pictures)


def put(folder: Path, drawn: dict[str, bytes | None]) -> tuple[Path, ...]:
    """Pictures written into a folder by name, those that there are."""
    with saying_why(folder):
        folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, content in drawn.items():
        if content is not None:
            paths.append(folder / name)
            with replacing(paths[-1]) as beside:
                beside.write_bytes(content)
    return tuple(paths)


def _plain(where: str) -> str:
    """A file's name made of another, whatever that holds."""
    stem = Path(where).stem[:40]
    return "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in stem) or "image"
