"""Rules of workloads and of their autoscalers (``apps``, ``autoscaling``)."""
