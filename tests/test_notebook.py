"""How results look in a notebook."""

import vitlab
from vitlab import notebook
from vitlab.bundle import Bundle, Card, Prediction
from vitlab.data.preprocess import Preprocess


def test_names_are_escaped():
    assert "<script>" not in notebook.table("<script>", [("<script>", "<script>")])
    assert "<script>" not in notebook.bars("<script>", [("<script>", 0.5)])
    assert notebook.picture(None, "<b>") == "<p>&lt;b&gt;</p>"


def test_bars_are_as_long_as_their_share():
    assert "width:25.0%" in notebook.bars("", [("a", 0.25)])


def test_predictions_blueprints_and_bundles_show_themselves():
    shown = Prediction("cat", 0.75, {"cat": 0.75, "dog": 0.25})._repr_html_()
    assert "<b>cat (75.0%)</b>" in shown
    assert "dog" in shown
    b = vitlab.blueprint("vit_simple_patch8_32")
    assert '<td style="text-align:left">128</td>' in b._repr_html_()
    card = Card(
        blueprint=b, preprocess=Preprocess(size=b.image, mean=(0.5,) * 3, std=(0.2,) * 3), classes=tuple("abcdefghij")
    )
    assert "821,642 parameters" in Bundle(b.build(), card)._repr_html_()
