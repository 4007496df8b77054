"""Scripts that read a dataset with its users' own library, each by itself in another Python.

A script imports nothing of this project. It runs as `python SCRIPT.py REQUEST.json FOLDER` and
leaves `answer.json` and `samples.npz` in the folder; `exchange/consumer.py` asks and checks.
"""
