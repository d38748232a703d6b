"""The language model in PyTorch: the only place that imports torch.

Knows nothing of requests, caching or HTTP.
"""
