"""Commands of ``scrapy`` inside this project."""
