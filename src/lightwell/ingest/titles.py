"""The title of a document that has none of its own."""

from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit


def title_from_url(url: str) -> str:
    """Return the file name without extension, or the folder's name if the file is called `index` or `README`.

    Of a part of a file it is the part's name.
    """
    parts = urlsplit(url)
    path = PurePosixPath(unquote(parts.fragment or parts.path))
    is_of_folder = path.stem.strip("_").casefold() in ("index", "readme")
    return (path.parent.name if is_of_folder else "") or path.stem
