"""Live progress in the terminal: a panel of a few lines that stays at the bottom while the log scrolls above it."""
