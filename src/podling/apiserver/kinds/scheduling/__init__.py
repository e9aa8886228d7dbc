"""Rules of PriorityClasses, RuntimeClasses and PodDisruptionBudgets."""
