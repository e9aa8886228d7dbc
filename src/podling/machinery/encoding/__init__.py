"""Bytes into typed values and back: JSON, YAML, limits, unknown fields, custom resources."""
