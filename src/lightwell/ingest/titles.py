"""What a document is called that has no title of its own."""

from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit


def title_from_url(url: str) -> str:
    """Return the name of a URL's file without its ending; of its folder, for a file called `index` or `README`."""
    path = PurePosixPath(unquote(urlsplit(url).path))
    is_of_folder = path.stem.strip("_").casefold() in ("index", "readme")
    return (path.parent.name if is_of_folder else "") or path.stem
