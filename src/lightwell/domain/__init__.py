"""The nouns of Lightwell: frozen values and pure rules, no input or output."""
