"""Compiled kernels without a GPU: an interpreter of the part of PTX that Triton emits for them."""
