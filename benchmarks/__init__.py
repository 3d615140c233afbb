"""How fast the package is, as ratios to a peer in the same run. Never a test."""
