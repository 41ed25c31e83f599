"""Records of the cases in `test_neighbours.py`."""
