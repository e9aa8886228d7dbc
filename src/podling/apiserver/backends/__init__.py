"""Servers behind the API server: the addresses that serve a request, and the calls of webhooks."""
