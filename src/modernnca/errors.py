"""The few exceptions and warnings that a caller may want to catch."""


class ModelFileError(ValueError):
    """A model file cannot be read: damaged, not a model, or of a newer version."""


class TableError(ValueError):
    """A table does not fit what was learned in `fit`: a column is missing or new."""


class StoreError(OSError):
    """A store of records cannot be used as asked: in use, not writable, disk full."""


class MissingExtraError(ImportError):
    """A feature needs an optional package; the text says what to install."""


class FitWarning(UserWarning):
    """A fit gave another model than was asked for; `fit_report_` tells the same."""


class TimeLimitWarning(FitWarning):
    """The time limit was too short for a part of the fit."""


class BaselineWarning(FitWarning):
    """A baseline predicts, because the trained model is no better, or there is none."""
