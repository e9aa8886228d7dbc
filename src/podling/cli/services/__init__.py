"""``podling why service/NAME``: the facts about a Service, and the decision on what keeps it from serving."""
