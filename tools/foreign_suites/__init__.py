"""Run the end-to-end suites of other projects against Podling: client libraries and an operator framework.

The suites were written for real clusters and without knowledge of Podling, so they find differences that our
own tests miss. This repository contains no part of them: a suite's source comes from a package index, or from
a clone that the caller names, at a pinned version. ``suites`` lists them.

    python -m tools.foreign_suites [NAME...]
"""
