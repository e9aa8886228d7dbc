"""The API server: all stages of a request, from authentication to the store and back.

This package contains the HTTP edge (``app.py``), the wiring of a server (``server.py``) and the objects of
a new cluster; the stages have sub-packages. Kinds live in ``kinds/``, admission plugins in ``admission/``,
resources beside the built-in kinds in ``customresources/`` and ``aggregation/``. Loops that act on objects
are controllers and use the server through the client. The exceptions are the few loops that maintain the
served resources (``loops``).
"""
