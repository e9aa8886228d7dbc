"""Clients of an API server, and the parts that every control loop consists of.

Here belong the ``Client`` protocol and its implementations, the cache kept fresh by a list and a watch
(``informer``; ``list_and_watch`` decides which comes next), the queue of keys (``workqueue``), the loop that
runs a reconciler (``runner``), and event recording. Rules of one kind or controller stand in
``podling.controllers``, ``podling.scheduler`` and ``podling.kubelet``.
"""
