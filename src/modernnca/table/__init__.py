"""Raw tables: reading, schema, preprocessing, targets, splits. No torch."""
