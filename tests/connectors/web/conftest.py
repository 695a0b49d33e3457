"""Servers that tests share."""

from collections.abc import Iterator

import pytest

from tests.connectors.web.serving import Served, serving


@pytest.fixture
def served() -> Iterator[Served]:
    """A server of the test's own."""
    with serving() as one:
        yield one


@pytest.fixture(scope="session")
def standing() -> Iterator[Served]:
    """A server that several tests only read from."""
    with serving() as one:
        yield one
