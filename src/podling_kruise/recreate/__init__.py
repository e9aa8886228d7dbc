"""ContainerRecreateRequests: chosen containers of a living pod are stopped, and started again by the kubelet.

Admission adds what the containers are now. The node's controller stops them; the controller beside the API
server makes the pod not ready before, copies the statuses of new containers, and ends requests.
"""
