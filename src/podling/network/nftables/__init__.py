"""Transactions on nftables tables, written as netlink messages.

Here belong the messages of the kernel's nf_tables (chains, rules, sets and elements), the batches that make
several of them one transaction, and reading back what a table holds. The ``nft`` program reads whole tables
before it changes one element; these messages cost what the change costs. The packages that use them say what
the rules mean.

Source: linux/netfilter/nf_tables.h, linux/netfilter/nfnetlink.h.
"""
