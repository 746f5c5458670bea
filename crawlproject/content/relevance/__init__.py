"""Relevance of pages to a topic, and prediction of the relevance of linked pages.

Words and their weights, a topic as a term vector, the surroundings of links, and a linear model that learns online
which of them lead to relevant pages.  Pure: the spiders fetch and store.
"""
