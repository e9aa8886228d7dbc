"""HTTP extenders: servers that filter, score, bind or preempt beside the plugins.

Here belong the messages (``wire``), one extender (``http_extender``), all of them in order (``chain``), the
connection (``transport``), and the decision with extenders (``decision``). It is imported only when a
configuration has extenders. What plugins do without a network does not belong here.
"""
