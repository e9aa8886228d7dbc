"""Images of one node: names, archives, pulls, and layers unpacked once for all containers.

What belongs here: everything that turns a name or an archive into a list of read-only layer
directories and a configuration. What does not: mounting them (``runtime.oci.rootfs``) and deciding
when to pull or to delete (``podling.kubelet``).
"""
