"""vitlab explain: what a trained model looks at, and which picture of it to believe."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from vitlab.bundle_path import check_bundle
from vitlab.commands.flags import Count, MaybeImages, MaybePath, MaybeWord, Names, RunOrBundle, Switch
from vitlab.commands.own_data import same_classes
from vitlab.data.origin import Origin
from vitlab.errors import UserError
from vitlab.files import check_writable, replacing, saying_why, write_text

if TYPE_CHECKING:
    import torch

    from vitlab.bundle import Bundle
    from vitlab.explain.explanation import Explanation

MOST = 48  # images of one page: more would not open on a phone


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


def explain(
    run: RunOrBundle,
    images: MaybeImages = (),
    /,
    *,
    method: Names = (),
    target: MaybeWord = None,
    all_heads: Switch = False,
    data: MaybeWord = None,
    split: Literal["test", "val", "train"] = "test",
    root: MaybePath = None,
    fetch: Switch = False,
    count: Count = 4,
    out: MaybePath = None,
) -> Explanations:
    """Show what a trained model looks at in images: labelled pictures, and one page to explore.

    Args:
        run: A run's folder or a bundle.
        images: Image files; if none are named, some of the data, half of them named wrongly where there are such.
        method: attention, rollout, weighted-rollout, gradient, smooth-gradient, input-gradient, integrated-gradients or
            occlusion; all of them if not given.
        target: The class to explain; the one that the model names if not given.
        all_heads: Keep every head's whole map on the page, which grows by as many times as there are heads.
        data: Where images are taken from when none are named, as for `vitlab train`; the run's own if not given.
        split: Which of those images.
        root: Folder with the files of a data set known by name; $VITLAB_DATA or data/ if not given.
        fetch: Get those files from their published address where they are missing.
        count: How many of those images.
        out: Folder for pictures and page; explain/ in the run's folder if not given. A bundle that is already loaded
            is explained without writing unless a folder is given.
    """
    given = None if isinstance(run, str | Path) else run
    if given is None:
        check_bundle(run)
    if count < 1:
        raise UserError(f"--count wants at least 1, not {count}")
    if data is not None:
        Origin(data, None if root is None else Path(root), fetch).check()
    paths = _paths(images)
    folder = Path(out) if out is not None else None if given is not None else _beside(Path(run))
    if folder is not None:
        if folder.exists() and not folder.is_dir():
            raise UserError(f"{folder} is a file; --out wants a folder")
        check_writable(folder)

    from vitlab.bundle import load
    from vitlab.explain.look import class_number, look
    from vitlab.explain.methods.known import chosen

    methods = chosen(method)
    if folder is not None:
        from vitlab.explain.drawing.figure import check_matplotlib

        check_matplotlib()
    bundle = load(run) if given is None else given
    if target is not None:
        class_number(bundle, target)
    to_look_at = (
        _fitted(bundle, paths)
        if paths
        else _of_data(bundle, data, None if root is None else Path(root), fetch, split, count)
    )
    found = tuple(
        look(bundle, image, where, methods, target=target, truth=truth, all_heads=all_heads)
        for where, image, truth in to_look_at
    )
    return Explanations(found) if folder is None else _written(bundle, found, folder)


def _paths(images: Any) -> list[Any]:
    """Files to explain, folders opened; pictures and arrays as they are."""
    single = isinstance(images, str | Path) or hasattr(images, "mode") or (hasattr(images, "dtype") and images.ndim < 4)
    given = [images] if single else list(images)
    found: list[Any] = []
    for image in given:
        if not isinstance(image, str | Path):
            found.append(image)
            continue
        path = Path(image)
        if not path.exists():
            raise UserError(f"no such image or folder: {path}")
        from vitlab.data.listing import files_below

        found += files_below(path) if path.is_dir() else [path]
    if given and not found:
        raise UserError(f"no images in {', '.join(map(str, given))}")
    if len(found) > MOST:
        raise UserError(f"{len(found)} images are more than the {MOST} that one page holds; name fewer")
    return found


def _beside(run: Path) -> Path:
    """`explain/` in a run's folder; for a bundle that lies alone, here."""
    return (run if check_bundle(run) != run else Path()) / "explain"


Named = tuple[str, "torch.Tensor", str | None]


def _fitted(bundle: "Bundle", paths: Sequence[Any]) -> Iterator[Named]:
    from vitlab.data.decode import decode

    for i, image in enumerate(paths):
        named = isinstance(image, Path)
        picture = decode(image) if named else image
        yield (str(image) if named else f"image {i}"), bundle.card.preprocess.fit(picture), None


def _of_data(
    bundle: "Bundle", data: str | None, root: Path | None, fetch: bool, split: str, count: int
) -> Iterator[Named]:
    """Some of the data: half of them answered wrongly where there are so many, the surest first; the rest rightly."""
    from vitlab.data import memory
    from vitlab.explain.choose import right_and_wrong

    source = same_classes(bundle, data, root, fetch, None)
    pictures = memory.load(source.splits[split], bundle.card.preprocess)
    for i in right_and_wrong(bundle, pictures, min(count, MOST)):
        yield pictures.keys[i], pictures.images[i], bundle.classes[int(pictures.labels[i])]


def _written(bundle: "Bundle", found: tuple["Explanation", ...], folder: Path) -> Explanations:
    """Two pictures an image and one page; other files in the folder stay as they are."""
    from vitlab.explain.drawing import overlays
    from vitlab.report import explain_page

    with saying_why(folder):
        folder.mkdir(parents=True, exist_ok=True)
    pictures: list[Path] = []
    for i, each in enumerate(found):
        name = f"{i + 1:02}-{_plain(each.where)}"
        for kind, drawn in (("methods", overlays.methods(each)), ("heads", overlays.heads(each))):
            if drawn is not None:
                pictures.append(folder / f"{name}-{kind}.png")
                with replacing(pictures[-1]) as beside:
                    beside.write_bytes(drawn)
    write_text(folder / "page.html", explain_page.render(bundle.card.blueprint.name, found))
    return Explanations(found, folder / "page.html", tuple(pictures))


def _plain(where: str) -> str:
    """A file's name made of another, whatever that holds."""
    stem = Path(where).stem[:40]
    return "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in stem) or "image"
