"""An option in a sentence is not broken after its hyphens."""

from docsite.options import unbroken


def test_each_option_in_inline_code_is_kept_on_one_line() -> None:
    assert unbroken("<p><code>file a-b.wav --mask-k 3 -o x</code> --to</p>") == (
        '<p><code>file a-b.wav <span class="option">--mask-k</span> 3 <span class="option">-o</span> x</code>'
        " --to</p>"
    )


def test_a_block_of_code_is_left_as_it_is() -> None:
    html = "<pre><span></span><code><span>make</span> --to\n</code></pre>"
    assert unbroken(html) == html
