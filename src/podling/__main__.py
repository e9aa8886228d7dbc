"""``python -m podling`` is the ``podling`` command."""

from podling.cli.main import main

main()
