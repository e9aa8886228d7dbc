"""The kubelet: runs the pods bound to its node, and reports their status to the API server.

Here belong the decisions about one node's pods (``actions``, ``status``, ``admission``, ``termination``:
plain functions), the effects that carry them out (workers, volumes, probes, hooks, images), the node's
own registration and heartbeat, and the kubelet's server.

Not here: which node a pod goes to (the scheduler), what runs containers (``podling.runtime``), how pods
get addresses (``podling.network``), and anything that needs to see another node.

Where to start reading: ``kubelet.py`` starts everything; ``worker.py`` manages one pod from its first
sync to its removal; ``actions.py`` plans the next actions and ``pod_sync.py`` carries them out;
``status.py`` computes the status and ``status_manager.py`` reports it.
"""
