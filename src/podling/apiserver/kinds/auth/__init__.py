"""Rules of roles, service accounts, certificate requests and access reviews."""
