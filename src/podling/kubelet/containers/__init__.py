"""Containers of a pod: their specification, environment, images, start, hooks and end."""
