"""What stands in front of a protected endpoint, and tells the handlers behind it who is calling."""
