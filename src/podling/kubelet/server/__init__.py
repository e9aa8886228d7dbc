"""The kubelet's HTTPS server: logs, exec, attach, port-forward, statistics and metrics."""
