"""Custom resources: what users add to the API by definitions, served like what was there before.

Here belong the rules of definitions and of the objects they define: schemas (structure, pruning, defaults,
values, CEL rules), names and conditions, conversion between versions, tables, documents; and the
catalogue, which knows at any moment what is served. The generic stages of requests do not belong
here: custom objects pass through the same ones as all others.
"""
