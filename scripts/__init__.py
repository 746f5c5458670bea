"""Command-line tools of the project; a package, so that tests can import them."""
