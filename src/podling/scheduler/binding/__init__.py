"""From the decision to the node: the plugins that write, and the order in which they run."""
