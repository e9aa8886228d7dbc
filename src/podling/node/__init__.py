"""One node, wired: its runtime, its pod network, its kubelet and the kubelet's server.

Here belong the parts of a node and the order in which they start and stop. The behaviour of kubelets and
runtimes is in their own packages.
"""
