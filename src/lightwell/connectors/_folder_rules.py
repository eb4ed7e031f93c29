"""What the owner of a folder says of the files in it: the settings and the .gitignore of each folder at or above them."""

import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from lightwell.connectors._file_settings import (
    NO_SETTINGS,
    FileSettingsLayer,
    FolderSettings,
    parse_folder_settings,
)
from lightwell.connectors._gitignore import (
    GITIGNORE,
    MAX_GITIGNORE_BYTES,
    GitIgnore,
    is_left_out,
    parse_gitignore,
)
from lightwell.domain.errors import Invalid
from lightwell.ingest.parse.front_matter import MAX_YAML_CHARACTERS, parse_unique_mapping
from lightwell.ownership import open_regular_file, reason_to_distrust

SETTINGS_NAME = ".lightwell.yaml"
CHECK_PERMISSIONS = "check its permissions"


@dataclass(frozen=True, slots=True)
class FolderAbove:
    """A folder at or above a file, its settings, and what git leaves out there."""

    settings: FolderSettings
    folder: Path
    gitignore: GitIgnore | None = None

    def ignores(self, path: Path) -> bool:
        return self.settings.ignores(path.relative_to(self.folder).as_posix())

    def keeps(self, path: Path) -> bool:
        return self.settings.keeps(path.relative_to(self.folder).as_posix())

    def address_of(self, path: Path) -> str:
        return self.settings.address_of(printable_name(path.relative_to(self.folder).as_posix()))

    def layers_for(self, path: Path) -> list[FileSettingsLayer]:
        return self.settings.layers_for(path.relative_to(self.folder).as_posix())


def ignored_settings(root: Path) -> tuple[Path, list[Path]]:
    """Return the nearest folder above the root that other users may change, else the root, and the folders from there up whose settings are ignored for that."""
    above = root.parents[len(_trusted_parents(root)) :]
    return (above or [root])[0], [
        folder for folder in above if os.path.lexists(folder / SETTINGS_NAME)
    ]


def settings_above(root: Path) -> list[FolderAbove]:
    """Return the folders above the root that have settings, the outermost first.

    The search stops at the first folder that other users own or may write to: they must not decide who sees the files.
    """
    folders: list[FolderAbove] = []
    for folder in _trusted_parents(root):
        if settings := _folder_settings(folder):
            path = folder / SETTINGS_NAME
            if reason := reason_to_distrust(path.lstat()):
                raise Invalid(
                    f"{path} {reason}; make yourself its owner and take write permission from others (`chown`,"
                    " `chmod go-w`), or remove it"
                )
            folders.append(FolderAbove(settings, folder))
    return folders[::-1]


def gitignores_above(root: Path) -> list[FolderAbove]:
    """Return what git leaves out in the repository around the root; nothing where that is the root itself, which is named on purpose."""
    folders: list[FolderAbove] = []
    for folder in () if os.path.lexists(root / ".git") else _trusted_parents(root):
        if gitignore := _gitignore(folder):
            folders.append(FolderAbove(NO_SETTINGS, folder, gitignore))
        if os.path.lexists(folder / ".git"):
            break
    else:
        return []
    for path in (root, *root.parents):
        rules = [
            above.gitignore
            for above in folders[::-1]
            if above.gitignore and above.folder in path.parents
        ]
        if is_left_out(path, rules, is_folder=path.is_dir()):
            return []
    return folders[::-1]


def _trusted_parents(root: Path) -> list[Path]:
    """Return the folders above the root, the nearest first, up to the first that other users own or may write to."""
    return list(takewhile(lambda folder: not reason_to_distrust(folder.stat()), root.parents))


def address_of_file(path: Path, above: Sequence[FolderAbove]) -> str:
    """Return the address of a file for browsers, as the nearest folder says it that says one; "" where none does."""
    addresses = (folder.address_of(path) for folder in reversed(above))
    return next(filter(None, addresses), "")


def rules_of(folder: Path) -> list[FolderAbove]:
    """Return the settings of a folder and what git leaves out there, [] if nothing is said; raise `Invalid` for what cannot be read."""
    settings, gitignore = _folder_settings(folder), _gitignore(folder)
    if settings is None and gitignore is None:
        return []
    return [FolderAbove(settings or NO_SETTINGS, folder, gitignore)]


def _gitignore(folder: Path) -> GitIgnore | None:
    """Return what git leaves out in a folder, None without its file, or where that is a link, as git does; raise `Invalid`."""
    path = folder / GITIGNORE
    try:
        with open_regular_file(path) as file:
            content = file.read(MAX_GITIGNORE_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            return None
        raise Invalid(f"{path} cannot be read: {error.strerror}; {CHECK_PERMISSIONS}") from error
    if len(content) > MAX_GITIGNORE_BYTES:
        raise Invalid(f"{path} is too large; it says what is not read, so nothing is read there")
    return parse_gitignore(content, folder)


def _folder_settings(folder: Path) -> FolderSettings | None:
    """Return the settings of a folder, None without a settings file; raise `Invalid` if the file cannot be read."""
    path = folder / SETTINGS_NAME
    try:
        with open_regular_file(path) as file:
            content = file.read(MAX_YAML_CHARACTERS + 1)
        return parse_folder_settings(parse_unique_mapping(content.decode("utf-8-sig")), str(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        remedy = "replace the link by a file" if error.errno == errno.ELOOP else CHECK_PERMISSIONS
        raise Invalid(f"{path} cannot be read: {error.strerror}; {remedy}") from error
    except Invalid as error:
        raise Invalid(f"{SETTINGS_NAME} of {folder.name!r}: {error}") from error
    except UnicodeDecodeError as error:
        raise Invalid(
            f"{SETTINGS_NAME} of {folder.name!r} is not UTF-8 text; save it as UTF-8"
        ) from error


def printable_name(name: str) -> str:
    """Return a file name as valid Unicode, with bytes that are not UTF-8 escaped: PostgreSQL accepts nothing else."""
    return os.fsencode(name).decode("utf-8", errors="backslashreplace")
