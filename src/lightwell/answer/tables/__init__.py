"""Answers that are computed over rows of tables: counts, sums, averages, extremes and lists, each row cited. No model takes part."""
