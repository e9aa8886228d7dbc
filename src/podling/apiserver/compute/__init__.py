"""Child processes that compute the pure parts of large requests: bytes in, bytes out.

A computation of a second would hold the event loop for a second, and a thread would take the interpreter's
lock from it. So such work goes to one or two processes of lower priority, which start with the first large
request and end when they have been idle. This package knows nothing about requests: a job is a plain function
of this program, and bytes for it.
"""
