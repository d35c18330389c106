"""How results look in a notebook: small pieces of HTML, everything from outside escaped; no page, no script."""

import base64
from collections.abc import Iterable
from html import escape


def table(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A title above names with their values."""
    lines = "".join(
        f'<tr><td style="text-align:left">{escape(name)}</td><td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f"<b>{escape(title)}</b><table>{lines}</table>"


def bars(title: str, shares: Iterable[tuple[str, float]]) -> str:
    """A title above names with a bar as long as each one's share."""
    lines = "".join(
        f'<tr><td style="text-align:left">{escape(name)}</td><td style="text-align:right">{share:.1%}</td>'
        '<td style="width:12em"><div style="height:.7em;background:#1f5fae;'
        f'width:{100 * min(max(share, 0), 1):.1f}%"></div></td></tr>'
        for name, share in shares
    )
    return f"<b>{escape(title)}</b><table>{lines}</table>"


def picture(png: bytes | None, words: str) -> str:
    """A picture, and the words where there is none."""
    if png is None:
        return f"<p>{escape(words)}</p>"
    return f'<img alt="{escape(words)}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'
