"""Processes of the cases in `test_own_projects.py`."""
