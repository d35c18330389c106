"""The library, built once; a machine without a compiler has no such tests."""

import pytest

from vitlab.parts.native import library


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("native")


@pytest.fixture(autouse=True)
def _own(own_passes):
    """These tests are about the library."""


@pytest.fixture
def native(folder, _own):
    if why := library.take_up(folder):
        pytest.skip(why)
