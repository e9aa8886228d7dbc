"""Admission: one file per plugin, named as in Kubernetes, and the order in which they are asked.

``base`` says what a plugin is; ``registry.default_plugins`` lists those that a cluster has, in
kube-apiserver's order. A plugin belongs here when a decision needs more than the object itself: other
objects, the user, the namespace. Rules about one object alone belong in ``kinds/``; plugins read the
cluster and never write to it.
"""
