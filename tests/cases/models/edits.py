"""Records of the cases in `test_edits.py`."""
