"""A pod's volumes: one file per kind of volume, and the manager that sets them up and tears them down.

Here belong the plugins (where a volume's files come from), the atomic writer that publishes changing
files, ownership by ``fsGroup``, and the conversion of volume mounts to the runtime's mounts.

Not here: single managed files such as ``/etc/hosts`` (``kubelet.containers.hosts``), and mounting inside a
container, which is the runtime's task.
"""
