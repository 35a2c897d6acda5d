"""What a run may still spend: reserve before a request, settle after its reply, across the threads of one process.

The figures of earlier processes come from the graph at the start, unsettled turns at what they reserved, so that no
restart refills anything. The arithmetic is domain/ledger.py's.
"""
