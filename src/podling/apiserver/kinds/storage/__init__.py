"""Rules of volumes, claims, storage classes and what CSI drivers announce."""
