"""DefaultPreemption: pods of lower priority are evicted for a pod that fits nowhere."""

from __future__ import annotations

from podling.scheduler.configuration.plugin_args import DefaultPreemptionArgs, default_args
from podling.scheduler.decide import Diagnosis
from podling.scheduler.framework import Plugin
from podling.scheduler.preemption import Attempt, Refusal, Victims, preempt


class DefaultPreemption(Plugin):
    name = "DefaultPreemption"
    arguments = DefaultPreemptionArgs
    also_at = frozenset({"pre_enqueue"})  # pods wait there while their victims are removed

    def __init__(self, args: DefaultPreemptionArgs | None = None) -> None:
        super().__init__(args or default_args(self.name))

    def post_filter(self, attempt: Attempt, diagnosis: Diagnosis) -> Victims | Refusal:
        share, number = self.args.min_candidate_nodes_percentage, self.args.min_candidate_nodes_absolute
        return preempt(attempt, diagnosis, share, number)
