"""Tests of the report: a package, so that its file names may repeat those of other rooms."""
