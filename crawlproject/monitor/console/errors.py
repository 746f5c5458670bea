"""Errors of the console that its API reports."""

from __future__ import annotations


class ActionError(ValueError):
    """An action that is impossible now."""


class UnavailableError(ValueError):
    """Redis, which holds the orders of all workers, does not answer."""
