"""The Node object: its registration, its status, and the machine that it describes."""
