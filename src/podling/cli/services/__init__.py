"""Services in answers of ``podling why``: the facts about one, and what keeps it from serving."""
