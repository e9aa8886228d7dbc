"""Which flow and which priority level a request belongs to: the objects that say so, and what is told.

Nothing is held back by it: one process serves what it is asked, first come first served. What decides about
requests themselves does not belong here.
"""
