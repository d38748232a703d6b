"""The HTTP side: the Anthropic Messages API, health and metrics. It knows text and wire formats, not torch."""
