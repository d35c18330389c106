"""Built once for a processor and a compiler; without one, a reason and torch's own code."""

import subprocess
import sys

import pytest
import torch

from vitlab.parts.native import library


@pytest.fixture
def _never_loaded(monkeypatch):
    monkeypatch.setattr(library, "_loaded", None)
    monkeypatch.setattr(library, "_used", False)


@pytest.mark.usefixtures("_never_loaded")
def test_without_a_compiler_there_is_a_reason_and_nothing_is_used(tmp_path, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert library.take_up(tmp_path) == "no C++ compiler is here"
    assert not library.fits(torch.ones(3))
    with library.used(True):
        assert not library.fits(torch.ones(3))


@pytest.mark.usefixtures("_never_loaded")
def test_a_compiler_that_refuses_is_quoted(tmp_path, monkeypatch):
    compiler = tmp_path / "compiler"
    compiler.write_text('#!/bin/sh\n[ "$1" = --version ] && exit 0\necho "unknown option" >&2\nexit 3\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    assert library.take_up(tmp_path / "cache") == "the C++ compiler refused: unknown option"
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.usefixtures("native")
def test_it_is_built_once(tmp_path, monkeypatch):
    found = []
    for _ in range(2):
        monkeypatch.setattr(library, "_loaded", None)
        assert library.take_up(tmp_path) == ""
        found.append([(file.name, file.stat().st_mtime_ns) for file in tmp_path.iterdir()])
    assert found[0] == found[1]
    assert len(found[0]) == 1


@pytest.mark.usefixtures("native")
def test_loading_it_leaves_small_numbers_and_torchs_threads_alone(folder):
    """Flags for fast arithmetic would flush them to zero in the whole process; a second OpenMP would double threads."""
    code = (
        "import sys, torch, pathlib; from vitlab.parts.native import library, passes\n"
        "assert library.take_up(pathlib.Path(sys.argv[1])) == ''\n"
        "passes.dropout(torch.ones(100000), 0.1)\n"
        "small = torch.tensor(1e-40); assert float(small * 0.5) > 0\n"
        "names = {line.split()[-1] for line in open('/proc/self/maps') if 'omp' in line}\n"
        "print(len({name for name in names if 'gomp' in name}))\n"
    )
    if not sys.platform.startswith("linux"):
        pytest.skip("looks into /proc")
    done = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout == "1\n"


@pytest.mark.usefixtures("native")
def test_not_for_what_pretends_to_be_a_tensor():
    assert library.fits(torch.ones(3))
    with torch._subclasses.FakeTensorMode():
        assert not library.fits(torch.ones(3))
