"""The names people use, whatever was imported before."""

import subprocess
import sys

import pytest

import vitlab


@pytest.mark.parametrize("first", ["vitlab.create('vit_simple_patch8_32')", "__import__('vitlab.report.page')", "None"])
def test_names_shared_with_rooms_stay_functions(first):
    shown = "len(vitlab.models('vit_base*')), vitlab.report.__name__, vitlab.models.__name__"
    code = f"import vitlab; {first}; print({shown})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(len(vitlab.models("vit_base*"))), "report", "models"]


def test_importing_vitlab_imports_nothing_heavy():
    code = "import sys, vitlab; print(sorted({'torch', 'numpy', 'pydantic', 'lightning', 'tyro'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="vitlab has no 'modles'"):
        vitlab.modles  # noqa: B018
