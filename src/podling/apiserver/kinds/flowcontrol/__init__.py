"""Rules of FlowSchemas and PriorityLevelConfigurations, and their defaults."""
