"""What tools, resources and prompts have in common, at its documented paths."""
