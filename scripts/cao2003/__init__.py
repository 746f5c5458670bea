"""The figures of Cao 2003: plan --fig3, fig4, fig5, policies--> Result --output--> tables, CSV files, plots."""
