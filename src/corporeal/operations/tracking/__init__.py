"""Releases and batches as runs of MLflow."""
