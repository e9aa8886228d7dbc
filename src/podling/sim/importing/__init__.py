"""Scenarios made from what other clusters wrote: objects, audit logs, published traces. Nothing runs here."""
