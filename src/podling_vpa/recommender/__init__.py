"""The recommender: use of containers into histograms, histograms into recommendations.

All but ``controller`` and ``checkpoint_writes`` is calculation on what it is given, with the time.
Upstream: ``recommender``.
"""
