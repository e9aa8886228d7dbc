"""A whole cluster in one process: the control plane and its nodes, wired together.

Here belong the data directory and the order of starts and stops; decisions stand in the packages that they
concern.
"""
