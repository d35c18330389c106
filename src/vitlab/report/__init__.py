"""The page about a run: one self-contained HTML file that says what was trained, on what, and how well.

Read in this order: `facts` (what a run's folder holds, checked), `curves` and `evaluation` (its two largest
files), `plan` (what was decided, with its reasons), `chart` (SVG drawn by us, so that it follows the page's
light or dark theme), and `page` (all of it together, through `page.html`, `page.css` and `page.js`).

Nothing here needs torch: a report can be made from the folder alone, on any machine.
"""
