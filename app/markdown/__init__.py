"""The Markdown of an answer to HTML that is safe in a page. Knows no requests, accounts or languages."""

from app.markdown.rendering import Markdown, SafeHtml

__all__ = ["Markdown", "SafeHtml"]
