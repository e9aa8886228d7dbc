"""Records every answer of an API server to a fixed scenario, and compares two recordings byte for byte.

A reorganisation must not change an answer. Record the commit before and the commit after it, then compare:

    python -m tools.recorded_requests record --checkout DIR RECORDING
    python -m tools.recorded_requests compare RECORDING RECORDING
"""
