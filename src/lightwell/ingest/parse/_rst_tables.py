"""The tables of reStructuredText, as rows of cells: drawn with signs, of separated values, of lists of lists."""

import csv
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise


def drawn_cells(table: Sequence[str]) -> list[list[str]]:
    """Return the cells of a table that is drawn with signs; lines of a row are joined.

    A row has no cells behind the ends of its lines, so that a wide table takes no more than its own length.
    """
    border = table[0]
    is_grid = border[0] == "+"
    if is_grid:
        edges = [n for n, sign in enumerate(border) if sign == "+"]
    else:
        begins = (n for n, sign in enumerate(border) if sign == "=" and border[n - 1 : n] != "=")
        edges = [*(n - 1 for n in begins), max(map(len, table))]
    rows: list[list[list[str]]] = [[]]
    for line in table[1:]:
        if set(line.strip()) <= set("+-= |") and line.strip("| "):
            rows.append([])
            continue
        inside = edges[: bisect_left(edges, len(line)) + 1]
        parts = [line[left + 1 : right].strip() for left, right in pairwise(inside)]
        if not is_grid and parts and parts[0]:
            rows.append([])
        last = rows[-1]
        last += ([] for _ in range(len(parts) - len(last)))
        for cell, part in zip(last, parts, strict=False):
            cell.append(part)
    joined = ([" ".join(filter(None, cell)) for cell in row] for row in rows)
    return [row for row in joined if any(row)]


def separated_cells(lines: Sequence[str]) -> list[list[str]]:
    """Return the cells of lines of comma-separated values, each as one cell where they are broken."""
    filled = [line.strip() for line in lines if line.strip()]
    try:
        return list(csv.reader(filled, skipinitialspace=True))
    except csv.Error:
        return [[line] for line in filled]


def listed_cells(lines: Sequence[str]) -> list[list[str]]:
    """Return the cells of a table that is a list of lists."""
    rows: list[list[str]] = []
    for line in lines:
        bare = line.strip()
        if bare.startswith("* -"):
            rows.append([bare[3:].strip()])
        elif rows and bare.startswith("- ") and line[:4].strip() in ("-", ""):
            rows[-1].append(bare[2:].strip())
        elif rows and bare:
            rows[-1][-1] = f"{rows[-1][-1]} {bare}".strip()
    return rows
