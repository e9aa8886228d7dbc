"""Placing pods on nodes.

Here belongs the path of a pending pod: the queue it waits in, the columns that describe the nodes, the
plugins that filter and score them (``plugins``, one file each, under Kubernetes' names), preemption, and
the loop that binds. Deciding is plain functions over the cache and the pod; only ``scheduling_loop`` talks to
the API. Running pods, and evicting them for any other reason than preemption, does not belong here.

Importing ``podling.scheduler.scheduler`` is cheap; the first pending pod loads numpy and the plugins.
"""
