"""``KubeletConfiguration``: the type, its validation, and its way into the kubelet's own configuration."""
