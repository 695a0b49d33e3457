"""A plugin of pytest: files in any order, and the tests of each; ``-p tests.chaos.shuffled``.

``SURTITLE_CHAOS_SEED`` gives the order. The tests of a file stay together, as they share what it took long to
make.
"""

import os
from random import Random

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    random = Random(os.environ["SURTITLE_CHAOS_SEED"])
    files = {item.path: random.random() for item in items}
    random.shuffle(items)
    items.sort(key=lambda item: files[item.path])
