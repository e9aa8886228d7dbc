"""Snapshots of provisioned volumes: the kinds, the rules, the controller, and sources of new volumes.

Loaded by clusters with the extension ``snapshots``, and for claims whose data source is a snapshot.
"""
