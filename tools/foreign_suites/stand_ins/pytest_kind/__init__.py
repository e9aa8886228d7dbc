"""A stand-in for pytest-kind that uses the existing cluster in place of a kind cluster."""
