"""Controllers that keep Endpoints and EndpointSlices."""
