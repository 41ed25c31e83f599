"""Processes of the cases in `test_workers_day.py`."""
