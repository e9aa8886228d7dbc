"""The scheduler's plugins, one file each, under Kubernetes' names.

A plugin belongs here when it filters or scores nodes, or holds a pod back, by looking at the cache and the
pod alone. What order they run in is ``podling.scheduler.profile``'s business.
"""
