"""The manual page: it is what the command line says."""

from reference.manual import manual_page


def test_it_has_every_command_with_its_options() -> None:
    commands = manual_page().split('\n.SS "surtitle ')[1:]
    by_name = {text.partition(" [")[0].replace(r"\-", "-"): text for text in commands}
    assert {"live", "file", "loadgen", "serve", "model train"} <= by_name.keys()
    for option in ("--to", "--model", "--set"):
        assert rf"\fB{option}".replace("-", r"\-") in by_name["file"]


def test_no_text_is_taken_for_a_request_of_roff() -> None:
    requests = {line.split(" ")[0] for line in manual_page().splitlines() if line.startswith((".", "'"))}
    assert requests <= {".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".RS", ".RE"}
