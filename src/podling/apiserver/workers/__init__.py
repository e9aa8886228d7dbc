"""API workers: further processes of the API server, which read from memory and pass writes to the writer.

The writer is the process that has the store. Here belong a worker's parts (the replica's feed, consistent
reads, forwarding) and what the writer serves to workers alone. Nothing here decides what a request means:
that is the same code in all of these processes.
"""
