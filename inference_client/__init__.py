"""An async client of the Anthropic Messages API, for any backend that speaks it."""

from inference_client.client import InferenceClient
from inference_client.encoding import encode_body
from inference_client.errors import (
    AuthenticationFailed,
    ConnectFailed,
    ConnectionLost,
    FirstTokenTimeout,
    Gone,
    IdleTimeout,
    InferenceError,
    InvalidRequest,
    NotFound,
    Overloaded,
    ProtocolError,
    RateLimited,
    RequestTooLarge,
    ServerFault,
    StatusError,
    TransportError,
)
from inference_client.event_parser import parse_event
from inference_client.events import (
    BlockStart,
    BlockStop,
    MessageDelta,
    MessageStart,
    MessageStop,
    Ping,
    Prefill,
    StreamEvent,
    TextDelta,
)
from inference_client.inspection import (
    AttentionRow,
    CacheState,
    Comparison,
    MessageTokens,
    ShownToken,
    TokenPiece,
    WeighedToken,
)
from inference_client.messages import Message, Model, PrefixCache, Usage
from inference_client.retry import RetryPolicy
from inference_client.server_sent_events import ServerSentEvent
from inference_client.snapshot import Snapshot
from inference_client.stream import MessageStream
from inference_client.timeouts import Timeouts

__all__ = [
    "AttentionRow",
    "AuthenticationFailed",
    "BlockStart",
    "BlockStop",
    "CacheState",
    "Comparison",
    "ConnectFailed",
    "ConnectionLost",
    "FirstTokenTimeout",
    "Gone",
    "IdleTimeout",
    "InferenceClient",
    "InferenceError",
    "InvalidRequest",
    "Message",
    "MessageDelta",
    "MessageStart",
    "MessageStop",
    "MessageStream",
    "MessageTokens",
    "Model",
    "NotFound",
    "Overloaded",
    "Ping",
    "Prefill",
    "PrefixCache",
    "ProtocolError",
    "RateLimited",
    "RequestTooLarge",
    "RetryPolicy",
    "ServerFault",
    "ServerSentEvent",
    "ShownToken",
    "Snapshot",
    "StatusError",
    "StreamEvent",
    "TextDelta",
    "Timeouts",
    "TokenPiece",
    "TransportError",
    "Usage",
    "WeighedToken",
    "encode_body",
    "parse_event",
]
