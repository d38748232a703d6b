"""Weights as blocks of small integers, as the packed kernels multiply them.

Few rows cost what reading the weights costs, so fewer bits are faster. What a file stores in blocks of four or eight
bits stays exactly as it is, and everything else gets eight, which is as fine as Q8_0, the finest format below float16.
"""

from dataclasses import dataclass

import numpy as np

from inference_server.gguf_file import Blocks

BLOCK = 32
EIGHT_BIT_ZERO = 128


@dataclass(frozen=True, slots=True)
class PackedMatrix:
    """[out, in] in blocks of 32 along `in`: value = scale * (code - zero) + offset, zero = 2 ** (bits - 1).

    `codes` uint8 [out, blocks, 4 * bits], two codes a byte where they have four bits, the earlier one low.
    `scales` float32 [out, blocks]; `offsets` likewise, or None where all of them are 0.
    """

    bits: int
    codes: np.ndarray
    scales: np.ndarray
    offsets: np.ndarray | None

    @property
    def out_features(self) -> int:
        return len(self.codes)

    @property
    def in_features(self) -> int:
        return len(self.scales[0]) * BLOCK


def pack_blocks(blocks: Blocks) -> PackedMatrix:
    """Exactly what the file holds."""
    codes = blocks.codes[..., 0::2] | (blocks.codes[..., 1::2] << 4) if blocks.bits == 4 else blocks.codes
    offsets = blocks.offsets + 2 ** (blocks.bits - 1) * blocks.scales
    return PackedMatrix(blocks.bits, codes, blocks.scales, offsets if offsets.any() else None)


def pack_values(values: np.ndarray) -> PackedMatrix:
    """Float32 [out, in] rounded to eight bits, in 255 steps per block; in a multiple of 32."""
    blocks = values.reshape(values.shape[0], -1, BLOCK)
    scales = np.abs(blocks).max(axis=-1) / 127
    steps = np.rint(blocks / np.where(scales == 0, 1, scales)[..., None])
    return PackedMatrix(8, (steps + EIGHT_BIT_ZERO).astype(np.uint8), scales.astype(np.float32), None)
