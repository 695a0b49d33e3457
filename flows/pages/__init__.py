"""HTML pages, drawings and tables, for the report and the trace."""
