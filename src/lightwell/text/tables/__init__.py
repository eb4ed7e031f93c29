"""Tables in texts: where their rows stand, and the figures and days in their cells."""
