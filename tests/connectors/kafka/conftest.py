"""The broker that the tests of this folder share."""

from collections.abc import Iterator

import pytest

from tests.broker import Broker, a_broker


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    with a_broker() as one:
        yield one
