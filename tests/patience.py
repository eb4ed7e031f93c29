"""How long tests wait for what must happen: a limit against hanging for ever, never a claim about speed."""

PATIENCE = 600.0
"""Seconds; a machine that is busy with other work may be a hundred times slower than an idle one."""
