"""vitlab explain: what a trained model looks at, and which picture of it to believe."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from vitlab.bundle_path import check_bundle
from vitlab.commands.explained import MOST, Explanations, explain_each, of_data, of_files
from vitlab.commands.flags import MaybeImages, MaybeInt, MaybePath, MaybeWord, Names, RunOrBundle, Switch
from vitlab.commands.insight import Insight, dissected, judged
from vitlab.data.listing import images_at, is_one
from vitlab.data.origin import Origin
from vitlab.errors import UserError
from vitlab.files import check_writable

if TYPE_CHECKING:
    from vitlab.bundle import Bundle

_IMAGES, _JUDGED, _DISSECTED = 4, 100, 500  # how many images of the data each question takes


def explain(
    run: RunOrBundle,
    images: MaybeImages = (),
    /,
    *,
    method: Names = (),
    target: MaybeWord = None,
    all_heads: Switch = False,
    fidelity: Switch = False,
    model: Switch = False,
    data: MaybeWord = None,
    split: Literal["test", "val", "train"] = "test",
    root: MaybePath = None,
    fetch: Switch = False,
    count: MaybeInt = None,
    out: MaybePath = None,
) -> Explanations | Insight:
    """Show what a trained model looks at, and which picture of it to believe.

    Args:
        run: A run's folder or a bundle.
        images: Image files; if none are named, some of the data, half of them named wrongly where there are such.
        method: attention, rollout, weighted-rollout, grad-cam, gradient, smooth-gradient, input-gradient,
            integrated-gradients or occlusion; all of them if not given.
        target: The class to explain; the one that the model names if not given.
        all_heads: Keep every head's whole map on the page, which grows by as many times as there are heads.
        fidelity: Say which method to believe: cover what each ranks first, and see whether the model notices.
        model: Look at the model itself: how far its heads look, which of them matter, what each layer knows, its
            positions and filters, and how they came about where the run was trained with --watch.
        data: Where images are taken from when none are named, as for `vitlab train`; the run's own if not given.
        split: Which of those images.
        root: Folder with the files of a data set known by name; $VITLAB_DATA or data/ if not given.
        fetch: Get those files from their published address where they are missing.
        count: How many of those images: 4, or 100 for --fidelity, or 500 for --model, if not given.
        out: Folder for pictures and page; explain/ in the run's folder if not given. A bundle that is already loaded
            is explained without writing unless a folder is given.
    """
    given = None if isinstance(run, str | Path) else run
    if given is None:
        check_bundle(run)
    _check(fidelity, model, images, count)
    if data is not None:
        Origin(data, None if root is None else Path(root), fetch).check()
    paths = _paths(images)
    folder = Path(out) if out is not None else None if given is not None else _beside(Path(run))
    if folder is not None:
        _check_folder(folder)

    from vitlab.bundle import load
    from vitlab.explain.look import class_number
    from vitlab.explain.methods.known import chosen

    methods = chosen(method)
    bundle: Bundle = load(run) if given is None else given
    if target is not None:
        class_number(bundle, target)
    where = (data, split, None if root is None else Path(root), fetch)
    if fidelity:
        return judged(bundle, where, count or _JUDGED, methods, folder)
    if model:
        trained = None if given is not None else Path(run)
        return dissected(bundle, where, count or _DISSECTED, trained, folder)
    named = of_files(bundle, paths) if paths else of_data(bundle, where, min(count or _IMAGES, MOST))
    return explain_each(bundle, named, methods, target, all_heads, folder)


def _check(fidelity: bool, model: bool, images: Any, count: int | None) -> None:
    if count is not None and count < 1:
        raise UserError(f"--count wants at least 1, not {count}")
    if fidelity and model:
        raise UserError("--fidelity and --model are two questions; ask them one after the other")
    if (fidelity or model) and not isinstance(images, str | Path) and len(images):
        raise UserError(
            f"--{'fidelity' if fidelity else 'model'} looks at many images and not at one; name them with --data, or "
            "leave them out"
        )


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file; --out wants a folder")
    check_writable(folder)
    from vitlab.explain.drawing.figure import check_matplotlib

    check_matplotlib()


def _paths(images: Any) -> list[Any]:
    """Files to explain, folders opened; pictures and arrays as they are."""
    given = [images] if is_one(images) else list(images)
    found: list[Any] = []
    for image in given:
        found += images_at(Path(image)) if isinstance(image, str | Path) else [image]
    if given and not found:
        raise UserError(f"no images in {', '.join(map(str, given))}")
    if len(found) > MOST:
        raise UserError(f"{len(found)} images are more than the {MOST} that one page holds; name fewer")
    return found


def _beside(run: Path) -> Path:
    """`explain/` in a run's folder; for a bundle that lies alone, here."""
    return (run if check_bundle(run) != run else Path()) / "explain"
