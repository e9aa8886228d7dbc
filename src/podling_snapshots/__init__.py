"""The extension ``snapshots``: VolumeSnapshots of the directory provisioner's volumes.

The kinds and their controller are in ``podling.controllers.volumes.snapshots``, beside the provisioner, which
makes volumes from snapshots. A cluster without the extension loads nothing of them.
"""
