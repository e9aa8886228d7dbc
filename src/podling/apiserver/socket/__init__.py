"""The API server on a Unix socket, for components in other processes of this machine.

``server`` listens and accepts, ``connection`` receives messages and sends answers, ``calls`` passes requests
to the registry, ``streams`` sends what goes on: watches, and the store itself. The protocol is
``podling.client.messages``; its client is ``podling.client.socket_backend``.
"""
