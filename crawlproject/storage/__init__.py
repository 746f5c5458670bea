"""The frontier's only I/O: state that must outlive the process."""
