"""Flow schemas and priority levels of requests: their objects, and the response headers that name them.

No request is delayed or refused: one process serves requests in the order of arrival. Decisions about
requests themselves do not belong here.
"""
