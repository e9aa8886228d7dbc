"""Extensions: kinds, controllers, admission plugins and roles that other packages add to a cluster.

Here belong the interface that such a package implements, and finding those that are enabled. The packages
themselves do not: ``podling_kruise`` is one. ``docs/extending.md`` is the page for their authors.
"""
