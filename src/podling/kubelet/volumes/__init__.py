"""A pod's volumes: one file per kind of volume, and the manager that sets them up and takes them down.

Here belong the plugins (where a volume's files come from), the atomic writer that publishes changing
files, ownership by ``fsGroup``, and the turning of volume mounts into the runtime's mounts.

Not here: managed single files such as ``/etc/hosts`` (``kubelet.containers.hosts``), and the mounting of
anything inside a container, which is the runtime's.
"""
