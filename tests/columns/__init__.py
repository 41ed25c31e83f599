"""Records with every kind of owned column; the write-path tests use them."""
