"""The sandbox payment provider: somebody else's service, reached over HTTP only."""
