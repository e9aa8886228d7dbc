"""Container runtimes: the protocol (``base.py``, its values in ``values.py``) and its implementations.

Here belong ``oci`` (real containers), ``process`` (plain host processes, each with a
``monitor``), ``sim`` (scripted lives), ``images`` (the node's image store) and their shared parts: the event
feed, signal names, the CRI log format. Everything here knows sandboxes, containers and images.

Not here: pods, restart policies, probes and volumes (``podling.kubelet`` decides about those and
calls the runtime), and pod networking (``podling.network`` implements ``PodNetwork``).
"""
