"""The servers that a simulated API server calls: their scripts, their answers, and the ways to them."""
