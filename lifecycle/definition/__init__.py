"""Definition: what a lifecycle is — declared, compiled, verified, asked."""
