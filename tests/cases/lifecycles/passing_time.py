"""Processes of the cases in `test_passing_time.py`."""
