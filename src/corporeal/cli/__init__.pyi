from . import program as program
