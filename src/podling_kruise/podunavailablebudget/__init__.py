"""PodUnavailableBudget: a limit of the pods that deletions, evictions and updates make unavailable.

``protection`` decides, ``guard`` spends, ``pod_admission`` calls it for users' requests and the workloads of
OpenKruise before updates in place; ``controller`` computes what is left.
"""
