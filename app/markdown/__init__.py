"""The Markdown of an answer to HTML that is safe in a page. Knows no requests, accounts or languages."""

from app.markdown.rendering import Markdown, SafeHtml
from app.markdown.streaming import AnswerStream, BlockStreamer, Snapshot

__all__ = ["AnswerStream", "BlockStreamer", "Markdown", "SafeHtml", "Snapshot"]
