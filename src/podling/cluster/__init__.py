"""A whole cluster in one process: the control plane and its nodes, wired together.

Here belong the data directory, the order in which things start and stop, and nothing that decides:
every decision lives in the room it is about.
"""
