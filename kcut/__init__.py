"""kcut: does this component earn its keep?"""

__version__ = "0.1.0"
