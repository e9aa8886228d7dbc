"""OpenKruise's workloads, group ``apps.kruise.io``: an extension of Podling, and the worked example of one.

It imports nothing of Podling but what ``docs/extending.md`` lists; import-linter holds this. Names of labels,
annotations, conditions, reasons and events are OpenKruise's. Upstream: ``github.com/openkruise/kruise``.
"""
