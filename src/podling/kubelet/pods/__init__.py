"""Pods on the node: their workers, the plans for each pass, admission, resize, static pods."""
