"""Tables in the forms in which programs and people leave them, their true contents, and an index."""
