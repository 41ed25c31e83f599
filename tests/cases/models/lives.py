"""Records of the cases in `test_lives.py`."""
