"""How long something may take: until a deadline, or until the user interrupts it."""

import math
import time


class _Interruption:
    """A flag that all parts of a budget share."""

    requested = False


class Budget:
    """A deadline by `time.monotonic`, and an interruption; parts share the latter.

    >>> budget = Budget()
    >>> budget.exhausted(), budget.interrupt(), budget.part(0, 2).exhausted()
    (None, None, 'interrupted')
    """

    def __init__(
        self,
        seconds: float | None = None,
        *,
        begin: float | None = None,
        end: float = math.inf,
        interruption: _Interruption | None = None,
    ) -> None:
        self.begin = time.monotonic() if begin is None else begin
        self.end = end if seconds is None else self.begin + seconds
        self._interruption = interruption or _Interruption()

    def exhausted(self) -> str | None:
        """Why to stop: "interrupted" or "time_limit"; None to go on."""
        if self._interruption.requested:
            return "interrupted"
        return "time_limit" if time.monotonic() >= self.end else None

    def interrupt(self) -> None:
        """Ask all who share this budget to stop."""
        self._interruption.requested = True

    @property
    def interrupted(self) -> bool:
        """Whether the user has interrupted."""
        return self._interruption.requested

    def left(self) -> float:
        """How many seconds are left; infinite without a deadline."""
        return max(0.0, self.end - time.monotonic())

    def less(self, seconds: float) -> "Budget":
        """The same budget, which ends so many seconds earlier.

        >>> budget = Budget(10.0)
        >>> round(budget.end - budget.less(3.0).end, 9)
        3.0
        """
        return self._until(self.begin, self.end - seconds)

    def part(self, number: int, n_parts: int) -> "Budget":
        """Until the end of one of several equal parts of this budget."""
        end = self.begin + (self.end - self.begin) * (number + 1) / n_parts
        return self._until(self.begin, min(end, self.end))

    def rest(self) -> "Budget":
        """From now to the end."""
        return self._until(time.monotonic(), self.end)

    def first(self, share: float) -> "Budget":
        """A share of what is left."""
        rest = self.rest()
        return self._until(rest.begin, rest.begin + share * (rest.end - rest.begin))

    def _until(self, begin: float, end: float) -> "Budget":
        return Budget(begin=begin, end=end, interruption=self._interruption)
