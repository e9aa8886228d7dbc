"""API aggregation: groups and versions that another server answers, through this one.

Here belongs what an ``APIService`` asks for: finding out whether the server behind it is there and what it
serves, and passing requests on to it as the user who made them. What is served from our own store does not
belong here.
"""
