"""The Lifecycles page: health, where records are, pending work, parameters."""
