"""The rows of flows: who locks what is written in `locks`."""
