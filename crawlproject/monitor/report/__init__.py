"""The report: one HTML file made of a crawl's series and snapshot, readable without a network or this program."""
