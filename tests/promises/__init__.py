"""The nine promises of the library, each kept from end to end."""
