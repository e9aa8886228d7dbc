"""The updater: evicts or resizes pods whose requests are far from their recommendation.

Upstream: ``updater``.
"""
