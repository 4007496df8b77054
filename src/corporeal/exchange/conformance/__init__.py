"""Scripts that read a dataset with its users' own library, each by itself in another Python.

A script imports nothing of this project. Its `main(request)` returns the answer and the samples;
`exchange/library.py` asks and checks.
"""
