"""The interactive page of `vitlab explain`: point at a patch and see where it looks; one file, nothing beside it.

Numbers go in as JSON that is no script; the one script is ours and known to the page's own policy by its hash. Names of
files and classes come from strangers: they are escaped on the page and in the JSON.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib import resources

import jinja2
from markupsafe import Markup

from vitlab.explain.colours import RAMP
from vitlab.explain.explanation import Explanation
from vitlab.report.explain_data import shown


def render(model: str, found: Sequence[Explanation]) -> str:
    """The page as text."""
    script = _asset("explain.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    data = json.dumps({"ramp": RAMP, "images": [shown(each) for each in found]}, separators=(",", ":"))
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template("explain.html").render(
        model=model,
        images=[(each.where, each.summary) for each in found],
        attends=any(each.layers for each in found),
        data=Markup(data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")),
        style=Markup(_asset("page.css") + _asset("explain.css")),
        script=Markup(script),
        policy=f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'",
    )


def _asset(name: str) -> str:
    return resources.files("vitlab.report").joinpath(name).read_text(encoding="utf-8")
