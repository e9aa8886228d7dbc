"""Requests that another server answers: kubelets' streams, pods, Services, nodes and webhooks."""
