"""The Kubernetes API types, one module per group and version.

Here belong the frozen structs that ``tools/gen_api.py`` writes from the official schema, and the
marks they carry. Behaviour, defaults and validation do not: this package imports nothing of ours.
"""
