"""Addresses are shown without their secrets, whatever they are, and what is none is known as such."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from operators.addresses import parts_of, shown, shown_in, without_user
from operators.errors import UsageError

in_user = st.text("abc:%@/?#[].0", max_size=12)


@given(in_user, st.sampled_from(["example.org", "[::1]:80", "[::1", "host:x", ""]), st.text(max_size=5))
@example("user:pa/s", "example.org", "")
def test_no_address_shows_a_password_or_the_value_of_a_query(user: str, host: str, path: str) -> None:
    path = path.replace("@", "")
    address = f"https://{user}:hunter2@{host}/{path}?token=hunter3#hunter4"
    told = shown(address)
    assert told.startswith("https://")
    assert "hunter3" not in told
    assert "hunter4" not in told
    if parts_of(f"https://{user}/") is None or not {*"/?#"} & {*user}:
        assert "hunter2" not in told


@pytest.mark.parametrize(
    "text", ["http://[b/x", "http://h:70000/", "http://h:0/", "http:///x", "http://a..b", "http://h/\n", "x"]
)
def test_what_nobody_can_connect_to_is_no_address(text: str) -> None:
    assert parts_of(text) is None


def test_a_sentence_shows_no_secret_of_the_addresses_in_it() -> None:
    quoted = (
        "'https://user:word@example.org/x?token=5ec2', rtmp://b/live?k=1: see http://127.0.0.1:80/metrics."
    )
    told = "'https://example.org/x', rtmp://b/live: see http://127.0.0.1:80/metrics."
    assert shown_in(quoted) == str(UsageError(quoted)) == told


def test_a_user_is_told_in_a_header_instead_of_the_address() -> None:
    # "user:p@ss"
    told = {"Authorization": "Basic dXNlcjpwQHNz"}
    assert without_user("http://user:p%40ss@[::1]:80/x?y=1") == ("http://[::1]:80/x?y=1", told)
    assert without_user("http://host/a@b") == ("http://host/a@b", {})
