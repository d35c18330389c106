"""The interactive page of `vitlab explain`: point at a patch and see where it looks; one file, nothing beside it.

Numbers go in as JSON that is no script; the one script is ours and known to the page's own policy by its hash. Names of
files and classes come from strangers: they are escaped on the page and in the JSON.
"""

import json
from collections.abc import Sequence

from markupsafe import Markup

from vitlab.explain.colours import RAMP
from vitlab.explain.explanation import Explanation
from vitlab.report import frame
from vitlab.report.explain_data import shown


def render(model: str, found: Sequence[Explanation]) -> str:
    """The page as text."""
    script = frame.asset("explain.js")
    data = json.dumps({"ramp": RAMP, "images": [shown(each) for each in found]}, separators=(",", ":"))
    page = frame.environment().get_template("explain.html")
    return page.render(
        model=model,
        data=Markup(data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")),
        style=frame.style("page.css", "explain.css"),
        script=Markup(script),
        policy=frame.policy(script),
    )
