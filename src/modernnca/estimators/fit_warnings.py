"""Warn and log what became of a fit."""

import logging
import warnings

from modernnca.ensemble.fit_report import FitReport
from modernnca.errors import BaselineWarning, TimeLimitWarning

_LOGGER = logging.getLogger("modernnca")
_BASELINES = {"knn": "plain k-NN", "constant": "a constant"}
_FIT_CALLER = 4  # the line that called `fit`


def tell(report: FitReport, *, trained: bool) -> None:
    """Log the report, and warn if the model is not what was asked for."""
    _LOGGER.info("fit: %r", report)
    if report.baseline is not None:
        name = _BASELINES.get(report.baseline, report.baseline)
        reason = (
            "The trained model is no better than a baseline on the validation rows"
            if trained
            else "No network finished an epoch"
        )
        text = f"{reason}; {name} predicts instead (see baseline_)."
        warnings.warn(text, BaselineWarning, stacklevel=_FIT_CALLER)
    if report.left_out and report.ended == "time_limit":
        warnings.warn(
            f"time_limit={report.time_limit:g} was too short for a part of the fit; "
            f"left out: {', '.join(report.left_out)} (see fit_report_). Raise "
            "time_limit to have it.",
            TimeLimitWarning,
            stacklevel=_FIT_CALLER,
        )
