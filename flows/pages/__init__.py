"""Pages and tables: what the report and the trace are drawn with."""
