"""The status of a pod: its computation, and its reports to the API server."""
