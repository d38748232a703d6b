"""Both kinds of arithmetic of a linear layer."""

import pytest
import torch

from inference_server.model.linear import Head, Linear, Widener, multiplies_well

CPU = torch.device("cpu")


@pytest.mark.parametrize("rows", [1, 3, 4, 40])
@pytest.mark.parametrize("block_elements", [16, 100, 10_000])
@pytest.mark.parametrize("biased", [False, True])
def test_widened_product_equals_the_narrow_one_up_to_rounding(rows: int, block_elements: int, biased: bool) -> None:
    torch.manual_seed(0)
    weight, values = torch.randn(30, 16).bfloat16(), torch.randn(rows, 16).bfloat16()
    bias = torch.randn(30).bfloat16() if biased else None
    exact = torch.nn.functional.linear(values.double(), weight.double(), None if bias is None else bias.double())

    for from_rows in (1, 4, 1000):
        widener = Widener(CPU, block_elements)
        product = Linear(weight, bias, widener=widener, widen_from_rows=from_rows)(values)
        assert product.dtype == torch.bfloat16
        assert torch.allclose(product.double(), exact, rtol=2**-7, atol=2**-6)


def test_wide_product_is_the_correctly_rounded_one() -> None:
    torch.manual_seed(0)
    weight, values = torch.randn(30, 64).bfloat16(), torch.randn(5, 64).bfloat16()
    exact = (values.double() @ weight.double().T).bfloat16()
    wide = Linear(weight, widener=Widener(CPU))(values)
    assert (wide != exact).float().mean() < 0.02


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_head_gives_logits_that_are_not_rounded(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    weight, rows = torch.randn(30, 64).to(dtype), torch.randn(2, 64)
    logits = Head(weight, Widener(CPU, 640))(rows)
    assert logits.dtype == torch.float32
    assert torch.allclose(logits.double(), rows.double() @ weight.double().T, atol=1e-4)


def test_float32_and_other_devices_multiply_well() -> None:
    assert multiplies_well(torch.float32, CPU)
    assert multiplies_well(torch.bfloat16, torch.device("cuda"))


def test_bfloat16_on_the_cpu_multiplies_well_just_where_the_processor_can() -> None:
    assert multiplies_well(torch.bfloat16, CPU) == torch.ops.mkldnn._is_mkldnn_bf16_supported()
