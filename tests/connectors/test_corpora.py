"""Corpora by name: in the layouts of their makers and in plain files, from a folder or downloaded into it."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from connectors import corpora
from connectors.corpora import Utterance, read_corpus
from operators.errors import InputError, UsageError
from operators.languages import Direction
from tests.connectors.models.registry import Registry

EN_DE = Direction.of("en", "de")
PAIR = [Utterance("one", "eins"), Utterance("two", "zwei")]


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(corpora.DATA_VARIABLE, str(tmp_path))
    return tmp_path


def write(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


@pytest.mark.parametrize("name", ["flores101.devtest.1-2.{}", "flores101_dataset/devtest/{}.devtest"])
def test_flores_is_read_in_its_own_layout_and_as_plain_texts(data: Path, name: str) -> None:
    codes = ("en", "de", "zh") if name.endswith("{}") else ("eng", "deu", "zho_simpl")
    for code, lines in zip(codes, (("one", "two"), ("eins", "zwei"), ("一", "二")), strict=True):
        write(data / name.format(code), *lines)
    assert read_corpus("flores101", EN_DE) == PAIR
    assert [one.reference for one in read_corpus("flores101", Direction.of("de", "zh"))] == ["一", "二"]
    with pytest.raises(UsageError, match="no text in Japanese"):
        read_corpus("flores101", Direction.of("en", "ja"))
    write(data / name.format(codes[1]), "eins")
    with pytest.raises(InputError, match="has 2 lines and"):
        read_corpus("flores101", EN_DE)


def test_segments_of_talks_have_times_as_far_as_these_are_known(data: Path) -> None:
    texts = data / "2" / "acl_6060" / "eval" / "text" / "txt"
    write(texts / "ACL.6060.eval.en-xx.en.txt", "one", "two")
    write(texts / "ACL.6060.eval.en-xx.de.txt", "eins", "zwei")
    assert read_corpus("acl6060-eval", EN_DE) == PAIR
    row = "- {{duration: 1.5, offset: {}, rW: 3, speaker_id: NA, uW: 0, wav: talk.1.wav}}"
    times = data / "ACL.ACLeval2023.en-xx.gold_segments.yaml"
    write(times, row.format(0.5), row.format(2.25))
    timed = [Utterance("one", "eins", "talk.1", 0.5, 2.0), Utterance("two", "zwei", "talk.1", 2.25, 3.75)]
    assert read_corpus("acl6060-eval", EN_DE) == timed
    write(times, row.format(0.5))
    with pytest.raises(InputError, match="for each of 2 segments"):
        read_corpus("acl6060-eval", EN_DE)
    line = {"talk": "talk.1", "offset_s": 0.5, "duration_s": 1.5, "en": "one", "de": "eins"}
    write(data / "acl6060.dev.jsonl", json.dumps(line))
    assert read_corpus("acl6060", EN_DE) == timed[:1]
    with pytest.raises(UsageError, match="no text in fr"):
        read_corpus("acl6060", Direction.of("en", "fr"))


def test_an_archive_is_downloaded_once_and_only_its_texts_are_kept(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=r"SURTITLE_OFFLINE forbids downloading flores101_dataset\.tar\.gz"):
        read_corpus("flores101", EN_DE)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in (("eng", b"one\ntwo\n"), ("deu", b"eins\nzwei\n"), ("../../../evil", b"")):
            member = tarfile.TarInfo(f"flores101_dataset/devtest/{name}.devtest")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text))
    server = Registry()
    server.files["flores101_dataset.tar.gz"] = packed.getvalue()
    monkeypatch.delenv("SURTITLE_OFFLINE")
    with server.serving():
        url = server.url.replace(server.place, "/flores101_dataset.tar.gz")
        known = hashlib.sha256(packed.getvalue()).hexdigest()
        for sha256 in ("0" * 64, known):
            monkeypatch.setattr(corpora, "_FLORES", corpora._FLORES._replace(url=url, sha256=sha256))
            if sha256 != known:
                with pytest.raises(InputError, match=f"sent another file .sha256 {known}"):
                    read_corpus("flores101", EN_DE)
        assert read_corpus("flores101", EN_DE) == PAIR
        assert read_corpus("flores101", EN_DE) == PAIR
    assert len(server.requests) == 2
    kept = sorted(path.name for path in data.rglob("*.*") if path.is_file())
    assert kept == ["deu.devtest", "eng.devtest"]


def test_an_unknown_name_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(UsageError, match="choose one of flores101, acl6060, acl6060-eval"):
        read_corpus("flores", EN_DE)
