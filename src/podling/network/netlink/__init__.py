"""Just enough rtnetlink for the networks of pods and nodes.

``wire`` is the format, ``links`` the messages of a pod's network, ``connection`` the socket to the kernel,
``interfaces`` answers questions that need none. Not here: nftables, whose messages travel in batches
(``podling.network.nftables``), and the overlay's messages (``podling.network.overlay``).
"""
