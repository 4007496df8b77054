"""Views that people train on: modes, scales, weights, the order of joints, a PyTorch dataset."""
