"""The endpoints of an authorization server."""
