"""Commands of ``scrapy``, registered by ``COMMANDS_MODULE`` in this project, elsewhere by the package's entry points.

Scrapy imports all command modules for every command, in every project of the environment.  Therefore a command imports
the rest of this package only when it runs.
"""
