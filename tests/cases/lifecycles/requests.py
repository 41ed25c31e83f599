"""Processes of the cases in `test_requests.py`."""
