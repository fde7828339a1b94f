"""Nearest neighbors for tables, with a learned distance."""

from modernnca._version import __version__

__all__ = ["__version__"]
