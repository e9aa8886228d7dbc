"""CPUs and memory that belong to single containers: the machine's topology, and its managers."""
