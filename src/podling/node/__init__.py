"""One node, wired: its runtime, its pod network, its kubelet and the kubelet's server.

Here belongs what a node is made of and the order in which it starts and stops; what a kubelet or a
runtime does is in their rooms.
"""
