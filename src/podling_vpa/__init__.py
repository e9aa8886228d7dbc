"""VerticalPodAutoscalers, group ``autoscaling.k8s.io``: an extension of Podling.

Three parts, as upstream: ``recommender`` computes requests from the use of containers, admission gives them
to new pods, ``updater`` evicts or resizes pods whose requests are far off. Names of annotations, conditions,
reasons and events are upstream's. It imports nothing of Podling but what ``docs/extending.md`` lists;
import-linter holds this. Upstream: ``github.com/kubernetes/autoscaler``, ``vertical-pod-autoscaler/pkg``.
"""
