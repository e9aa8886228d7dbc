"""Pod networks that the machine's CNI plugins make, instead of Podling's own bridge.

Here belongs the caller's side of the CNI specification: configuration files, calls of plugins, their results
and errors. What the plugins do, and packets between nodes, are the plugins' own matter.
"""
