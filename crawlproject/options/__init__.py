"""The settings of this project: declared, checked and parsed here, once per crawl; passed on as values.

One module for each family of settings, with a frozen dataclass of its parsed values.  Its ``read`` declares each
setting in one place: name, default (with the reason beside it) and check.  ``FrontierOptions.of(crawler)`` gives the
values of a crawl.  ``values.py`` has what the families share; ``all_settings.py`` lists them, with all defaults.

To add a setting: a field and a line in ``read`` of its family, and a line ``NAME: meaning`` in the docstring of the
family, of which ``scripts/reference.py`` makes docs/settings.md.  The add-on then checks it at the start, and a
misspelling of its name is noticed.

No other package reads a setting of this project by its name.  The behaviour that settings choose lives elsewhere.
"""
