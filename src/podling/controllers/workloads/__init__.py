"""Controllers of workloads: Deployments, StatefulSets, DaemonSets, Jobs, and disruption budgets."""
