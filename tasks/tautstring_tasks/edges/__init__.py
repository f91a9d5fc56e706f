"""Edge detection: maps of edges are scored by the protocol of BSDS500."""
