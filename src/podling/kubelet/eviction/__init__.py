"""Node-pressure eviction: the manager, the ranking, and the clean-up that it tries first."""
