"""Run the end-to-end suites of other projects against Podling: client libraries and an operator framework.

The suites were written for real clusters by people who never saw Podling, so they find differences that tests
of our own miss. Nothing of them lies in this repository: a suite's source comes from a package index, or from
a clone that the caller names, at a pinned version. ``suites`` lists them.

    python -m tools.foreign_suites [NAME...]
"""
