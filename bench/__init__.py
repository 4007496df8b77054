"""Benchmarks: each prints its tables and writes JSON; see bench/README.md."""
