"""What a typed Python function says about a tool.

`signature` reads it, `annotations` evaluates its types, `docstrings` finds the descriptions. `arguments` makes the
model of what a caller may pass, and `jsontext` decodes arguments that came as JSON text. `returns` decides what a
return type means, `structured` makes its schema and the structured content, and `content` what a model reads.
"""
