"""Reports of runs: tables, plots and the page that shows them. What is measured belongs to ``statistics``."""
