"""Deciding: what a call asks for, and everything that may say no to it."""
