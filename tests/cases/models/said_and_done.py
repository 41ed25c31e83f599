"""Records of the cases in `test_said_and_done.py`."""
