"""The requests of a recording, a module for each subject; ``play`` sends all of them.

A scenario knows kinds from the server's own discovery and OpenAPI documents, so a new kind is covered without
a change here. Requests follow one another: each sees the same state in every recording.
"""
