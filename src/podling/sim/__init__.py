"""Virtual time: an event loop on which hours pass in milliseconds, the same way at every run.

Here belongs what makes a run repeatable (``loop``). What is played on it does not: containers that live by
scripts, and runtimes that fail, are in ``podling.runtime.sim``, clusters to test on in ``podling.testing``.
"""
