"""What a passage says by itself, read once: when its chunk comes in.

    text ─ analyse ─► ChunkAnalysis ─ encode ─► bytes, kept with the chunk ─ decode ─► ChunkAnalysis ─┐
                                                               the other chunks of its passage ───────┴─► PassageAnalysis × question

A question compares itself with these values, and reads no passage again.
"""
