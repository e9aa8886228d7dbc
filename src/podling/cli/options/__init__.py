"""The options of ``podling up`` and ``podling join``, by subject, and the file in place of them."""
