"""Rules and encodings that hold for Kubernetes objects of every kind.

Here belong the scheme (which resources exist), the codec, quantities, names, selectors, patches and
server-side apply, field paths and API errors, tables and OpenAPI: pure functions over plain data and
the frozen structs of ``podling.api``. Rules of single kinds (defaults, validation, columns)
stand in ``apiserver/kinds``. Nothing here reads a clock, does I/O, or imports a layer above.
"""
