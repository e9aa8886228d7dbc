"""The horizontal pod autoscaler: from metrics to the number of replicas of anything that has a scale.

Here belong reading the metrics APIs, the calculation of replicas, its limits over time, and the controller
that writes scales. The resource metrics themselves are served by the API server.
"""
