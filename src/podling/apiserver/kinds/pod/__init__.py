"""Rules of pods and of pod templates, one file per subject; ``pods`` joins them."""
