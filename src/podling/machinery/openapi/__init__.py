"""OpenAPI documents (v2 and v3) of the built-in types, as JSON and as protobuf."""
