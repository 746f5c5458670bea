"""How relevant a page is to a topic, and what a link can be expected to bring.

Words and their weights, a topic as a term vector, the surroundings of links, and a linear model that learns online
which of them lead to relevant pages.  Pure: the spiders fetch and store.
"""
