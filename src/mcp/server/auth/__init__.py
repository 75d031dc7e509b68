"""Authorization at the server: protecting an endpoint, and being the authorization server.

Specification: basic/authorization.
"""
