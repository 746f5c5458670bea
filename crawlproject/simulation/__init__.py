"""Simulates crawls of webs in memory, in virtual time: compares policies without a network.

    synthetic | graph, graph_web --web--> crawl (the project's own frontier) --> metrics, with bound --> report
                                          experiment: webs x qualities x policies, in several processes

Pure except for the files read and written; randomness comes from seeds, so all results are reproducible.
"""
