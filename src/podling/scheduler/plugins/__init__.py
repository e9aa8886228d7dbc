"""The scheduler's plugins, one file each, under Kubernetes' names.

A plugin belongs here when it filters or scores nodes, or holds a pod back, by looking at the cache and the
pod alone. A profile (``podling.scheduler.profiles``) gives their order.
"""
