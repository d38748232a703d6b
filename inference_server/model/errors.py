"""What a model can report while it runs. No torch, so that the engine may catch it.

InferenceServerError
└── NonFiniteLogits    some rows computed to NaN or infinity
"""

from collections.abc import Sequence

from inference_server.errors import InferenceServerError


class NonFiniteLogits(InferenceServerError):
    """The logits of these items of the batch are NaN or infinite, so no token can be drawn for them.

    Nothing was sampled for the others either; their batch may be run again without the named items.
    """

    def __init__(self, items: Sequence[int]) -> None:
        super().__init__("the model computed values that are not numbers")
        self.items = tuple(items)
