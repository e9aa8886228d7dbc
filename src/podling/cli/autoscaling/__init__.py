"""Explanations of autoscalers for ``podling why``."""
