"""What is said and shown on pages in a real browser."""

from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests.connectors.web.serving import Served

Visit = Callable[..., Page]

#: What somebody says in a museum, and how it is translated.
ENGLISH = (
    "Good morning, ladies and gentlemen, and welcome to the museum.",
    "The tour begins at ten o'clock in the great hall.",
    "Please leave your bags and coats in the cloakroom.",
    "Taking photographs is allowed in all rooms, but without flash.",
)
GERMAN = (
    "Guten Morgen, meine Damen und Herren, und willkommen im Museum.",
    "Die Führung beginnt um zehn Uhr in der großen Halle.",
    "Bitte lassen Sie Ihre Taschen und Mäntel an der Garderobe.",
    "Das Fotografieren ist in allen Räumen erlaubt, aber ohne Blitz.",
)


def shown(page: Page) -> Locator:
    return page.locator("#captions .text:visible")


def expect_shown(page: Page, *texts: str) -> None:
    """Wait until exactly these translations are on the page."""
    expect(shown(page)).to_have_text(list(texts))
    # The browser's own text, in which white space counts.
    assert tuple(shown(page).all_text_contents()) == texts


def speak(captions: Served) -> None:
    """Four sentences that are over, and one that goes on."""
    for segment, (german, english) in enumerate(zip(GERMAN, ENGLISH, strict=True)):
        captions.say(segment, german, source=english, final=True)
    captions.say(4, "Im ersten Stock sehen Sie")
    captions.say(4, "Im ersten Stock sehen Sie die Gemälde", source="On the first floor you see")
