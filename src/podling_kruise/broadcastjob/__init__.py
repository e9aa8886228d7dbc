"""BroadcastJobs: a pod on every node that fits, until all have ended."""
