"""Rules of language that every stage shares, each once: what is a sentence, a date, a figure, a name, an order to a machine?

A document's text is stored as **chunks**; everything below a chunk is found by these modules, and means the same everywhere (`docs/glossary.md` has the same words):

- **chunk**: what is stored, embedded and cited, made by `ingest/chunking.py`. A **passage** is one chunk, or neighbouring ones joined.
- **sentence** (`sentences.py`): prose up to its full stop. **unit** (`units.py`): a sentence, a list item or a table row,
  with the headings and the lead-in that it stands under: what is scored and compared with the question.
- **block** (`blocks.py`): a paragraph, heading, item, row or code block of Markdown, as its lines show it.
  **piece** (`pieces.py`): whole blocks or units that are understood by themselves. An answer without a chat model consists of pieces.
- **quote** (`answer/quotes.py`): words of a chunk, unchanged, with their place: what a citation shows.
- **span**: where a stretch is, as (start, end) in characters of the text that is named beside it. It holds no words.
- **term** (`terms.py`): a stemmed word that is no stop word; texts are compared by their terms. **token** (`tokens.py`): what models count.

Word lists are data for each language: `words/en.toml` and its neighbours, read by `word_lists.py`.
"""
