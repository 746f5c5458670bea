"""Commands of ``scrapy``: in this project by ``COMMANDS_MODULE``, elsewhere by the package's entry points.

Scrapy then imports these modules whatever command is typed, in every project of the environment: what a command needs
of this package is imported when it runs.
"""
