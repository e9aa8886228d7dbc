"""``KubeSchedulerConfiguration``: the types, its defaults, its validation, and its file.

Nothing here knows the plugins: ``podling.scheduler.profiles`` makes profiles of plugins from a configuration.
"""
