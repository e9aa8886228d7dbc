"""What runs containers: the protocol (``base.py``, its values in ``values.py``) and its implementations.

Here belong ``oci`` (real containers), ``process`` (plain host processes, each watched over by a
``monitor``), ``sim`` (scripted lives), ``images`` (the node's image store) and the small things they share:
the event feed, signal names, the CRI log format. Everything here knows sandboxes, containers and images.

Not here: pods, restart policies, probes and volumes (``podling.kubelet`` decides about those and
tells the runtime what to do), and pod networking (``podling.network`` implements ``PodNetwork``).
"""
