"""Starting Podling again in another process: the command, and a process that goes on by itself."""
