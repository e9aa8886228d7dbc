"""Parts of the benchmark ``bench.abuse``: its cluster, its clients and its report.

The clients are processes of their own and use nothing of Podling but the reader of kubeconfig files.
"""
