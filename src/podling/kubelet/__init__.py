"""The node agent: it makes the pods bound to its node live and die, and tells the API server about it.

Here belong the decisions about one node's pods (``actions``, ``status``, ``admission``, ``termination``:
plain functions), the effects that carry them out (workers, volumes, probes, hooks, images), the node's
own registration and heartbeat, and the kubelet's server.

Not here: which node a pod goes to (the scheduler), what runs containers (``podling.runtime``), how pods
get addresses (``podling.network``), and anything that needs to see another node.

Ways through the room: ``kubelet.py`` starts everything; ``worker.py`` walks one pod from its first sight
to its removal; ``actions.py`` says what to do next and ``pod_sync.py`` does it; ``status.py`` says what to
report and ``status_manager.py`` reports it.
"""
