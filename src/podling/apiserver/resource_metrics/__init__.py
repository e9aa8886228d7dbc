"""The resource metrics API ``metrics.k8s.io/v1beta1``, over what kubelets measure.

Here belong reading kubelets, the rates between two samples, and the objects made from them. The API is served
as an aggregated one; a metrics-server that a user installs takes its place.
"""
