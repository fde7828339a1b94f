"""Where remembered rows live."""
