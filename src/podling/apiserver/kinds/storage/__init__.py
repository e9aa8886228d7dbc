"""Rules of volumes, claims, storage classes and CSI objects."""
