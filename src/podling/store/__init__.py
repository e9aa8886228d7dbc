"""The revisioned key-value store: what the cluster remembers.

Here belong the contract (``base``), what every implementation shares (``keys``, ``history``, ``hub``,
``state``) and the implementations themselves (``memory``, ``sqlite``). Nothing of Kubernetes belongs
here: no kinds, no defaulting, no retries on conflict; keys are paths and values are bytes.
"""
