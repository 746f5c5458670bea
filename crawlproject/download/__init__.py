"""The network: names, addresses, connections, answers, and the memory that bodies take.

What is asked for, and when, is the scheduler's; what an answer means is the middlewares'.
"""
