"""Rules of the core kinds that are neither pods nor networking nor storage."""
