"""File trees that containers and other programs write: opened, measured and removed without following links.

Containers, images and volumes hold arbitrary trees: links that are exchanged for directories
while they are read, thousands of nested directories, names that make no path. Every component that touches
such a tree uses this package. It also finds the holder of a file's lock.
"""
