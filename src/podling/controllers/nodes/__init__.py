"""Controllers of nodes: their health, their taints, and the pods that they lose."""
