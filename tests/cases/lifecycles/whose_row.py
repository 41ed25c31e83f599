"""Processes of the cases in `test_whose_row.py`."""
