"""API aggregation: groups and versions that another server serves through this one.

Here belong the health and the discovery of servers behind an ``APIService``, and the requests passed on to
them on behalf of their users. Resources in our own store do not belong here.
"""
