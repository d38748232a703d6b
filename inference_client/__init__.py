"""An async client of the Anthropic Messages API, for any backend that speaks it."""

from inference_client.client import InferenceClient
from inference_client.encoding import encode_body
from inference_client.errors import (
    AuthenticationFailed,
    ConnectFailed,
    ConnectionLost,
    FirstTokenTimeout,
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
from inference_client.messages import Message, Model, Usage
from inference_client.retry import RetryPolicy
from inference_client.stream import MessageStream
from inference_client.timeouts import Timeouts

__all__ = [
    "AuthenticationFailed",
    "BlockStart",
    "BlockStop",
    "ConnectFailed",
    "ConnectionLost",
    "FirstTokenTimeout",
    "IdleTimeout",
    "InferenceClient",
    "InferenceError",
    "InvalidRequest",
    "Message",
    "MessageDelta",
    "MessageStart",
    "MessageStop",
    "MessageStream",
    "Model",
    "NotFound",
    "Overloaded",
    "Ping",
    "Prefill",
    "ProtocolError",
    "RateLimited",
    "RequestTooLarge",
    "RetryPolicy",
    "ServerFault",
    "StatusError",
    "StreamEvent",
    "TextDelta",
    "Timeouts",
    "TransportError",
    "Usage",
    "encode_body",
]
