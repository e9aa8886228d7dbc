"""Tokens in Secrets: of machines that join, and of service accounts."""
