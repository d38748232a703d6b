"""The bundled inference server: one process, one model, a token-exact prefix cache behind the Anthropic Messages API.

Nothing else in Recount imports this package; it is reached over HTTP only.
"""
