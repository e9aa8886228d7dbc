"""Admission: one file per plugin, named as in Kubernetes, and the order in which they are called.

``base`` defines a plugin; ``registry.default_plugins`` lists the plugins of a cluster, in kube-apiserver's
order. A plugin belongs here when a decision needs more than the object itself: other objects, the user, the
namespace. Rules about one object alone belong in ``kinds/``; plugins read the cluster and never write to it.
"""
