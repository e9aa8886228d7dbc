"""Pieces that the rules of many kinds share: the base class, checks, defaults, tables, views."""
