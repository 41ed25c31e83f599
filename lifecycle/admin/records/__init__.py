"""A project's own records in the admin: the mixin, a record's panel, firing a transition."""
