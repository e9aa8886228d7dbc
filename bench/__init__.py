"""Benchmarks: one file per subject, each printing its figures beside floors measured in the same run.

Ratios travel between machines, seconds do not. Nothing here is run by the tests.
"""
