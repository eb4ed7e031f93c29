"""What a site's last reading found, kept as the cursor: what is unchanged is not read again."""

import base64
import json
import zlib
from collections.abc import Mapping

from pydantic import ValidationError

from lightwell.connectors.site.reading import Known
from lightwell.domain.errors import SourceFailed

_MAX_BYTES = 200 * 1000**2

Pages = Mapping[str, Known]
"""What is known, by canonical address."""


def write_cursor(options: str, pages: Pages) -> str:
    """Return the cursor; `options` stands for those that the pages were read with. A link is written as its place in the list of all addresses."""
    addresses = {
        url: place
        for place, url in enumerate(
            dict.fromkeys([*pages, *(link for page in pages.values() for link in page.links)])
        )
    }
    rows = [
        [
            page.etag,
            page.modified,
            page.stamp,
            page.is_item,
            [addresses[link] for link in page.links],
        ]
        for page in pages.values()
    ]
    text = json.dumps([options, list(addresses), rows], separators=(",", ":"))
    return base64.b85encode(zlib.compress(text.encode())).decode()


def read_cursor(cursor: str, options: str) -> dict[str, Known]:
    """Return what the cursor knows; nothing if it was written with other options. Raises `SourceFailed` for one that is not ours."""
    if not cursor:
        return {}
    try:
        unpacked = zlib.decompressobj().decompress(base64.b85decode(cursor), _MAX_BYTES)
        written_with, addresses, rows = json.loads(unpacked)
        if written_with != options:
            return {}
        return {
            url: Known(
                etag=etag,
                modified=modified,
                stamp=stamp,
                is_item=is_item,
                links=tuple(addresses[place] for place in links),
            )
            for url, (etag, modified, stamp, is_item, links) in zip(addresses, rows, strict=False)
        }
    except (ValueError, TypeError, IndexError, KeyError, zlib.error, ValidationError) as error:
        raise SourceFailed("The cursor of the source is damaged; sync it in full") from error
