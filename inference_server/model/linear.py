"""Linear layers that pick the arithmetic by the number of rows.

Where the processor cannot multiply bfloat16, few rows are fastest on bfloat16 weights, since reading the weights is
the whole cost, and many rows are fastest in float32. The float32 copy is made block by block while it is used, in a
buffer that stays in the processor's cache: that costs about a tenth of the time and no memory. Both ways multiply the
same rounded numbers and round the results alike, so they differ by the order of summation only.
"""

import torch
import torch.nn.functional as F  # noqa: N812 - the name by which everybody knows it
from torch import Tensor

# Measured on AVX2: up to three rows are faster in bfloat16.
WIDEN_FROM_ROWS = 4
WIDE_BLOCK_ELEMENTS = 2_097_152  # 8 MiB of float32.


class Widener:
    """Multiplies with float32 copies of narrower weights. Its buffer is shared by all layers of a model."""

    def __init__(self, device: torch.device, block_elements: int = WIDE_BLOCK_ELEMENTS) -> None:
        self._buffer = torch.empty(block_elements, device=device)

    def product(self, rows: Tensor, weight: Tensor) -> Tensor:
        """Rows [n, in] float32, weight [out, in] -> [n, out] float32."""
        blocks = torch.split(weight, max(1, self._buffer.numel() // weight.shape[1]))
        products = [F.linear(rows, self._widen(block)) for block in blocks]
        return products[0] if len(products) == 1 else torch.cat(products, dim=1)

    def _widen(self, block: Tensor) -> Tensor:
        return self._buffer[: block.numel()].view(block.shape).copy_(block)


def multiplies_well(dtype: torch.dtype, device: torch.device) -> bool:
    """Whether products of any number of rows are best computed in the dtype itself."""
    if dtype != torch.bfloat16 or device.type != "cpu":
        return True
    # The query is not public. Without it the way is taken that is never very slow.
    supported = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", None)
    return supported is not None and bool(supported())


class Linear:
    """Weight [out, in], optional bias [out]. With a widener, many rows are multiplied in float32."""

    def __init__(
        self,
        weight: Tensor,
        bias: Tensor | None = None,
        *,
        widener: Widener | None,
        widen_from_rows: int = WIDEN_FROM_ROWS,
    ) -> None:
        self.weight = weight
        self.bias = bias
        self._widener = widener
        self._widen_from_rows = widen_from_rows

    def __call__(self, rows: Tensor) -> Tensor:
        """[n, in] -> [n, out], both in the dtype of the weight."""
        if self._widener is None or rows.shape[0] < self._widen_from_rows:
            return F.linear(rows, self.weight, self.bias)
        product = self._widener.product(rows.float(), self.weight)
        if self.bias is not None:
            product += self.bias
        return product.to(self.weight.dtype)


class Head:
    """The last layer: hidden rows to logits, always in float32.

    Logits near 30 rounded to bfloat16 would move in steps of 0.125 or more, which is 0.6 nats and more at a
    temperature of 0.2, and neighbours would tie.
    """

    def __init__(self, weight: Tensor, widener: Widener) -> None:
        self._weight = weight
        self._widener = widener

    def __call__(self, rows: Tensor) -> Tensor:
        """[n, dim] float32 -> [n, vocabulary] float32."""
        if self._weight.dtype == torch.float32:
            return F.linear(rows, self._weight)
        return self._widener.product(rows, self._weight)
