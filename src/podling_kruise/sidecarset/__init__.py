"""SidecarSets: containers that admission adds to pods, and that are updated in the living pods."""
