"""Figures of batches and releases over time: measured, charted, watched."""
