"""File trees that others write: opened, measured and removed without following their links.

Containers, images and volumes hold whatever their authors like: links that are exchanged for directories
while they are read, thousands of nested directories, names that make no path. Every component that touches
such a tree uses this package. It also tells who holds the lock of a file.
"""
