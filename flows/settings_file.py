"""A settings file as it is on disk: its bytes may be anything, and it is read in bounded time and memory."""

import tomllib
from pathlib import Path
from typing import Any

from operators.errors import InputError, UsageError

# A file of settings has hundreds of bytes. The time for a key of many dots grows with their square.
_MOST_BYTES = 16 * 1024


def read_toml(path: Path) -> dict[str, Any]:
    """What a file of settings holds; raises `InputError` for one that is none."""
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: this is no file of settings; check --settings")
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise InputError(f"{path}: settings take at most {_MOST_BYTES} bytes, and this is longer")
        return tomllib.loads(content.decode("utf-8-sig"))
    except OSError as error:
        raise InputError(
            f"{path}: the settings cannot be read ({error.strerror}); check --settings"
        ) from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: the settings are not UTF-8 (byte {error.start + 1})") from None
    except RecursionError:
        raise InputError(f"{path}: this is not valid TOML: brackets are nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: this is not valid TOML: {error}") from None
    except ValueError:  # the one that tomllib leaves to Python
        raise InputError(f"{path}: this is not valid TOML: a number has too many digits") from None


def check_texts(settings: dict[str, Any], where: str, inside: str = "") -> None:
    """See that no text has a null character, which no system takes for the name of anything, and is one.

    :arg settings: Stages, and in them keys and values.
    :raises UsageError: with the place of a text that has one.
    """
    for key, value in settings.items():
        if isinstance(value, dict):
            check_texts(value, where, f"{inside}{key}.")
        elif any("\0" in text for text in _texts(value)):
            raise UsageError(f"{where}: {inside}{key}: there is a null character in it; leave it out")
        elif any("\ud800" <= character <= "\udfff" for text in _texts(value) for character in text):
            # A file's name in an old encoding, most likely.
            raise UsageError(f"{where}: {inside}{key} is {value!a}, which is not UTF-8; rename the file")


def _texts(value: object) -> list[str]:
    values = value if isinstance(value, list | tuple) else [value]
    return [one for one in values if isinstance(one, str)]
