"""Stores on disk, for state that must outlive the process; the core itself does no I/O."""
