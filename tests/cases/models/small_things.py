"""Records of the cases in `test_small_things.py`."""
