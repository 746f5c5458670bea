"""The settings of this project: declared, checked and parsed once per crawl; passed on as values.

One module for each family of settings, with its table of defaults and a frozen dataclass of parsed values;
``all_settings.py`` joins the tables. Nothing outside this package reads a setting of this project by its name. No
behaviour lives here.
"""
