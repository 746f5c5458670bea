"""What pages, sitemaps and robots.txt files show of the web, on its way into the frontier.

Reading pages, making links canonical, asking the guard and the seen-set, limits of pages per server. Ranking is the
frontier's; fetching is the scheduler's and the downloader's.
"""
