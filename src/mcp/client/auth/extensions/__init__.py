"""Providers for clients without a user at hand."""
