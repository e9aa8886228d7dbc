"""Connections that begin as HTTP and go on as streams: upgrades, WebSocket, SPDY, limits of HTTP servers.

The API server and the kubelet both use them. The framing is pure, bytes in and frames out; it holds no more
than a few kilobytes of a peer's data, for any announced length.
"""
