"""Patches and server-side apply: field sets, managers, strategic merge, JSON patch."""
