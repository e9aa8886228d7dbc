"""The command line: ``podling up``, ``run``, ``status`` and the rest, one file per command.

A command reads its options, calls the packages below and prints. It decides nothing about pods, and it
imports other modules when it runs, so that ``podling --help`` costs nothing.
"""
