"""Measuring of containers and pods: what their cgroups count, and the sizes of their writable layers."""
