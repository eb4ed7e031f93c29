"""Linear: issues, comments, projects, initiatives, documents, customers and their requests, over GraphQL."""
