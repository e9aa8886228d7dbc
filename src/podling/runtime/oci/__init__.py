"""Real containers: conmon watches, crun (or runc) runs, the kernel's overlayfs holds the files.

What belongs here: everything between the ``Runtime`` protocol and the kernel: namespaces, cgroups,
mounts, the OCI configuration, the container monitor and its streams. What does not: images and their
layers (``runtime.images``), addresses and packets (``podling.network``), and every decision about
*which* containers a pod needs (``podling.kubelet``).
"""
