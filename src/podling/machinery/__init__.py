"""What every part knows about Kubernetes objects in general, and nothing about any one kind's rules.

Here belong the scheme (which resources exist), the codec, quantities, names, selectors, patches and
server-side apply, field paths and API errors, tables and OpenAPI: pure functions over plain data and
the frozen structs of ``podling.api``. Rules of single kinds (defaults, validation, columns) do not:
they live in ``apiserver/kinds``. Nothing here reads a clock, does I/O, or imports a layer above.
"""
