"""A cluster in several processes: the supervisor, and what runs in each of its children.

The decisions (which parts there are, when one is started again, what is said about it) are pure; forking,
waiting and signals stand in ``children`` and ``supervision``. The parts themselves are those of ``cluster``.
"""
