"""What people read: records and scores as one page, with its tables and figures."""

from modernnca.lab.report.write import write_report

__all__ = ["write_report"]
