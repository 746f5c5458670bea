"""The report: one HTML file made of the series and the snapshot of a crawl, readable without a network or this program."""
