"""Flows: declared, started, waited in, decided, ended."""
