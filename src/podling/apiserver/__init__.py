"""The API server: every request's way from authentication to the store and back.

Here belong the stages of a request, one file each, the HTTP edge (``app.py``), discovery, watches,
the certificates and the objects every cluster starts with. What a kind adds lives in ``kinds/``, what may
refuse or complete a request in ``admission/``, what is served beside the built-in kinds in
``customresources/`` and ``aggregation/``. Loops that act on objects do not belong here, but for the few that
keep up what is served (``loops``): they are controllers, and speak to the server through the client.
"""
