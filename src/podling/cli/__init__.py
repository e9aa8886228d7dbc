"""The command line: ``podling up``, ``run``, ``status`` and the rest, one file per command.

A command reads its options, calls the rooms below and prints. It decides nothing about pods, and it
imports what it needs when it runs, so that ``podling --help`` costs nothing.
"""
