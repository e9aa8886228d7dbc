"""``podling sim``: the command, and its output. What it runs is in ``podling.sim``."""
