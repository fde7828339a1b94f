"""Reports: records and scores as one HTML page, with its tables and figures."""

from modernnca.lab.report.write import write_report

__all__ = ["write_report"]
