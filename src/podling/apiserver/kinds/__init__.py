"""``KindRules`` of each kind, which add to the generic stages of a request.

There is one file per kind, or per group of kinds with common rules, in a folder named after their API group
or subject. Each file holds a subclass of ``common.base.KindRules``; ``registry.rules_for`` finds it by name
and imports it on first use. The rules of pods are many, so they are split by subject (``pod_defaults``,
``container_validation``, ``pod_table`` ...) and joined in ``pod/pods.py``.

Not here: code that reads other objects (see ``admission``), uses HTTP, or applies to all kinds alike
(``apiserver/registry``). Nothing here awaits, logs, reads a clock or keeps state.
"""
