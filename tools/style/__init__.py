"""Counts of the project's style: plain words, sizes of folders, import cycles, tests that mirror modules.

``python -m tools.style`` prints them; ``tests/test_tidy.py`` holds them at their bounds.
"""
