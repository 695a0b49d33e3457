"""Files of models: found, fetched, checked, put together and written."""
