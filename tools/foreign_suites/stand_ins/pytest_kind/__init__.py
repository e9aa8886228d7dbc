"""Stands in for pytest-kind: the cluster that is there takes the place of one that kind would make."""
