"""For every test: shapes in annotations are checked, numbers are repeatable, no hub is asked."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import jaxtyping
import pytest

from tests import shapes  # noqa: F401  the hook below calls it by name

# No test asks the world's hub, or finds what happens to be in someone's cache of it; those of hubs have their own.
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": os.devnull}

# Before anything imports vitlab: what is imported already is not checked.
jaxtyping.install_import_hook(["vitlab.parts", "vitlab.models"], "tests.shapes.checked")

import torch  # noqa: E402

torch.set_num_threads(1)  # miniatures: a second thread costs more than it computes, and sums keep their order


@pytest.fixture(scope="session", autouse=True)
def _passes_by_torch() -> Iterator[Callable[[Path], str]]:
    """Runs of tests have torch's passes: a plan takes the faster ones, which may be others the next time."""
    from vitlab.parts.native import library

    own = library.take_up
    library.take_up = lambda folder: "tests of runs have torch's"
    yield own
    library.take_up = own


@pytest.fixture
def own_passes(_passes_by_torch: Callable[[Path], str], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The library is there to be taken up, for tests about it."""
    from vitlab.parts.native import library

    monkeypatch.setattr(library, "take_up", _passes_by_torch)
    yield
    library.put_down()


@pytest.fixture(autouse=True)
def _same_numbers_each_time() -> None:
    torch.manual_seed(0)
