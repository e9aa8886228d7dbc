"""Controllers of service accounts, certificate requests and aggregated roles."""
