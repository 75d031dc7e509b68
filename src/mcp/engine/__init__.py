"""The role-neutral heart: dispatch, in-flight requests, cancellation, timeouts, progress. Owns no loop of its own."""
