"""What each kind adds to the generic stages of a request.

One file per kind, or per group of kinds that share their rules, holding a subclass of
``base.KindRules``; ``registry.rules_for`` finds it by name and imports it on first use. Rules about
pods are many, so they are split by subject (``pod_defaults``, ``container_validation``,
``pod_table`` ...) and put together in ``pods.py``.

What does not belong here: anything that reads other objects (that is admission), that talks HTTP, or
that must happen for every kind alike (that is ``apiserver/rest.py``). Nothing here awaits, logs, reads
a clock or keeps state.
"""
