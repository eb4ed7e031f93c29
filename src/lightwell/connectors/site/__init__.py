"""Web sites: their pages and the files that these link to."""
