"""Records of the cases in `test_readable_input.py`."""
