"""What every page is made with: the templates of this folder, all values escaped, in the frame of `frame.html`."""

import base64
import hashlib
from importlib import resources

import jinja2
from markupsafe import Markup


def asset(name: str) -> str:
    """The text of a file of this folder."""
    return resources.files("vitlab.report").joinpath(name).read_text(encoding="utf-8")


def environment() -> jinja2.Environment:
    """Templates that escape what they print and stop at a name that they were not given."""
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(asset),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )


def style(*names: str) -> Markup:
    """Style sheets one after the other, as they are."""
    return Markup("".join(asset(name) for name in names))


def policy(script: str = "") -> str:
    """What a browser lets the page do: nothing is loaded, and no script runs but this one, known by its hash."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    scripts = f"'sha256-{digest}'" if script else "'none'"
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {scripts}; "
        "base-uri 'none'; form-action 'none'"
    )
