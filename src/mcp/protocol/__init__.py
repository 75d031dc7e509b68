"""The protocol's rules as plain functions and data: no event loop, no I/O, no clock."""
