"""How components talk to an API server, and the machinery every control loop is built from.

Here belong the ``Client`` protocol and its implementations, the cache kept fresh by a list and a watch
(``informer``; ``list_and_watch`` says which comes next), the queue of keys (``workqueue``), the loop that
runs a reconciler (``runner``), event recording and leader election. Knowledge of a particular kind or
controller does not: that is the business of ``podling.controllers``, ``podling.scheduler`` and
``podling.kubelet``.
"""
