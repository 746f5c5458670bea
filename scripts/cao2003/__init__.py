"""The figures of Cao 2003, and simulated beside real crawls of one web.

plan --fig3, fig4, fig5, policies--> Result --output--> a markdown table, CSV files, plots
emulated web --twin--> simulated web --agreement--> how far the two crawls differ
"""
