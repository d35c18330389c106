"""For every test: shapes in annotations are checked, numbers are repeatable."""

import jaxtyping
import pytest

from tests import shapes  # noqa: F401  the hook below calls it by name

# Before anything imports vitlab: what is imported already is not checked.
jaxtyping.install_import_hook(["vitlab.parts", "vitlab.models"], "tests.shapes.checked")

import torch  # noqa: E402

torch.set_num_threads(1)  # miniatures: a second thread costs more than it computes, and sums keep their order


@pytest.fixture(autouse=True)
def _same_numbers_each_time() -> None:
    torch.manual_seed(0)
