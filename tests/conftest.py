"""For every test: shapes in annotations are checked, numbers are repeatable, no hub is asked."""

import os
from collections.abc import Iterator

import jaxtyping
import pytest

from tests import shapes  # noqa: F401  the hook below calls it by name

# No test asks the world's hub, or finds what happens to be in someone's cache of it; those of hubs have their own.
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": os.devnull}

# Before anything imports vitlab: what is imported already is not checked.
jaxtyping.install_import_hook(["vitlab.parts", "vitlab.models"], "tests.shapes.checked")

import torch  # noqa: E402

torch.set_num_threads(1)  # miniatures: a second thread costs more than it computes, and sums keep their order


@pytest.fixture(autouse=True)
def _same_numbers_each_time() -> Iterator[None]:
    from vitlab.parts.native import library

    torch.manual_seed(0)
    yield
    library.put_down()  # a plan that the test made may have taken it up
