"""Checkers of invariants: statements about every cluster at every moment, one in each file.

A checker sees what the store and the runtimes did, not what components report. It must be right under all
faults that scenarios can inject; ``base.Surroundings`` lets it wait for quiet times where a statement holds
only in them. ``registry`` knows the checkers by name.
"""
