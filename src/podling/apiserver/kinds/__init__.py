"""What each kind adds to the generic stages of a request.

One file per kind, or per group of kinds that share their rules, in a folder named after their API group
or subject. Each holds a subclass of ``common.base.KindRules``; ``registry.rules_for`` finds it by name and
imports it on first use. Rules about pods are many, so they are split by subject (``pod_defaults``,
``container_validation``, ``pod_table`` ...) and joined in ``pod/pods.py``.

Not here: anything that reads other objects (admission does), that speaks HTTP, or that holds for every kind
alike (``apiserver/registry``). Nothing here awaits, logs, reads a clock or keeps state.
"""
