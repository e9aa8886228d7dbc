"""Container launch priority: the containers of a pod start one after another, the highest priority first.

Admission gives each container a variable from a key of the pod's barrier, a ConfigMap. The kubelet cannot
start a container before its key is there; the controller adds keys as containers become ready.
Upstream: ``pkg/controller/containerlaunchpriority``, ``pkg/webhook/pod/mutating``.
"""
