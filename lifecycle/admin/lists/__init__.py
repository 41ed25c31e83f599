"""Lists of the library's own rows, to read: history, held triggers, operator actions, and what they share."""
