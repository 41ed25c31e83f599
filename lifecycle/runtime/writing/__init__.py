"""Writing: the transaction of one transition, and what is announced after it."""
