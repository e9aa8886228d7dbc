"""Everything that expressions can call in Kubernetes v1.36, by bringing in the files that add it.

Which libraries there are, and in which versions: ``k8s.io/apiserver/pkg/cel/environment/base.go``.
"""

from podling.apiserver.cel import addresses, amounts, functions, lists, named_formats, texts

__all__ = ["addresses", "amounts", "functions", "lists", "named_formats", "texts"]
