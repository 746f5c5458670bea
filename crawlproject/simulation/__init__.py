"""Crawls of webs in memory, in virtual time: what a policy is worth, without a network.

    synthetic | graph, graph_web --web--> crawl (the project's own frontier) --> metrics, beside bound --> report, plots
                                          experiment: webs x qualities x policies, in several processes

Pure but for the files that are read and written; chance comes from seeds, so all results can be had again.
"""
