"""Documented import paths shared by servers and clients. Each module is one concept; there is nothing here itself."""
