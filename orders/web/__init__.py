"""The shop's pages: how people look at orders and move them. Nothing outside this folder needs it."""
