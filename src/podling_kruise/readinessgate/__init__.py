"""The readiness gate ``KruisePodReady``: pods of OpenKruise's workloads get it, and it is open at first."""
