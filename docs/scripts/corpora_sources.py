"""Which Debian packages hold English text beside its translation, where in them, and under which licence.

Packages are named as Debian 12 has them; the names of languages in braces are explained in ``corpora_kinds``.
"""

from __future__ import annotations

from corpora_kinds import Source, catalogues, ding, files, no_files, zipped
from corpora_read import documents, pages
from corpora_tables import dialogues, freeorion, joined, named_catalogues, properties

WESNOTH_PARTS = "data did dm dw ei httt l low nr sof sota sotbe thot trow tsg ttb utbs"
WESNOTH = tuple(f"wesnoth-1.16-{part}" for part in WESNOTH_PARTS.split())
GERMAN = frozenset({"de"})
MO = "usr/**/{locale}/LC_MESSAGES"

# In the order of how near the text is to what people say and write in news.
SOURCES = (
    Source("ding-sentences", ("trans-de-en",), ding, "GPL-2+", languages=GERMAN),
    Source("wesnoth", WESNOTH, catalogues(f"wesnoth-*/{MO}/*.mo"), "GPL-2+"),
    Source("freedroidrpg", ("freedroidrpg-data",), catalogues(f"freedroidrpg-data/{MO}/*.mo"), "GPL-2+"),
    Source(
        "fillets",
        ("fillets-ng-data",),
        files(dialogues, "fillets-ng-data/usr/**/dialogs_en.lua", english="_en.", other="_{code}."),
        "GPL-2+",
    ),
    Source(
        "freedink",
        ("freedink-data",),
        catalogues("freedink-data/usr/**/l10n/{locale}/LC_MESSAGES/*.mo"),
        "zlib",
    ),
    Source("warzone2100", ("warzone2100-data",), catalogues(f"warzone2100-data/{MO}/*.mo"), "GPL-2+"),
    Source("supertux", ("supertux-data",), catalogues("supertux-data/usr/**/{locale}.po"), "GPL-3+"),
    Source(
        "freecol",
        ("freecol",),
        files(
            joined(properties),
            "freecol/usr/**/strings/FreeColMessages.properties",
            english="Messages.",
            other="Messages_{locale}.",
        ),
        "GPL-2+",
    ),
    Source(
        "ufoai",
        ("ufoai-misc",),
        files(
            named_catalogues,
            "ufoai-misc/usr/**/i18n/en/LC_MESSAGES/ufoai.mo",
            english="/en/",
            other="/{locale}/",
        ),
        "GPL-2+",
    ),
    Source(
        "stellarium",
        ("stellarium-data",),
        catalogues("stellarium-data/usr/**/translations/*/{locale}.qm"),
        "GPL-2+",
    ),
    Source("naev", ("naev-data",), catalogues(f"naev-data/{MO}/*.mo"), "GPL-3+"),
    Source(
        "flare", ("flare-game",), catalogues("flare-game/usr/**/languages/data.{locale}.po"), "CC-BY-SA-3.0+"
    ),
    Source("widelands", ("widelands-data",), catalogues(f"widelands-data/{MO}/*.mo"), "GPL-2+"),
    Source(
        "0ad",
        ("0ad-data",),
        zipped("0ad-data/usr/**/public.zip", "l10n/{locale}.*.po"),
        "CC-BY-SA-3.0",
    ),
    Source("freeciv", ("freeciv-data",), catalogues(f"freeciv-data/{MO}/*.mo"), "GPL-2+"),
    Source(
        "freeorion",
        ("freeorion-data",),
        files(
            joined(freeorion), "freeorion-data/usr/**/stringtables/en.txt", english="/en.", other="/{code}."
        ),
        "GPL-2",
    ),
    Source(
        "unknown-horizons",
        ("unknown-horizons",),
        catalogues("unknown-horizons/usr/share/locale/{locale}/*/*.mo"),
        "GPL-2+",
    ),
    Source("lordsawar", ("lordsawar-data",), catalogues(f"lordsawar-data/{MO}/*.mo"), "GPL-3+"),
    Source("kstars", ("kstars-data",), catalogues(f"kstars-data/{MO}/*.mo"), "GPL-2+"),
    Source("gramps", ("gramps",), catalogues(f"gramps/{MO}/*.mo"), "GPL-2+"),
    Source(
        "debian-history",
        ("debian-history",),
        files(pages, "debian-history/usr/**/docs/*.en.html", english=".en.", other=".{code}."),
        "GPL-2+",
    ),
    Source(
        "debian-handbook",
        ("debian-handbook",),
        files(pages, "debian-handbook/usr/**/en-US/*.html", english="/en-US/", other="/{region}/"),
        "CC-BY-SA-3.0 or GPL-2+",
    ),
    Source(
        "gnome-help",
        ("gnome-user-docs",),
        files(documents, "gnome-user-docs/usr/share/help/C/**/*.page", english="/C/", other="/{locale}/"),
        "CC-BY-SA-3.0",
    ),
    Source(
        "gnucash-docs",
        ("gnucash-docs",),
        files(documents, "gnucash-docs/usr/share/help/C/**/*.xml", english="/C/", other="/{locale}/"),
        "GFDL-1.1+ (guide), GPL-2+ (help)",
    ),
    Source(
        "aisleriot",
        ("aisleriot",),
        files(documents, "aisleriot/usr/share/help/C/**/*.xml", english="/C/", other="/{locale}/"),
        "GFDL-1.1+ or 1.3, GPL-3+",
    ),
    Source(
        "gimp-help",
        ("gimp-help-en", "gimp-help-{tag}"),
        files(
            pages,
            "gimp-help-en/usr/**/help/en/*.html",
            english="gimp-help-en/ /en/",
            other="gimp-help-{tag}/ /{locale}/",
        ),
        "GFDL-1.2+",
    ),
    Source(
        "libreoffice-help",
        ("libreoffice-help-en-us", "libreoffice-help-{tag}"),
        files(
            pages,
            "libreoffice-help-en-us/usr/**/en-US/text/**/*.html",
            english="-help-en-us/ /en-US/",
            other="-help-{tag}/ /{short}/",
        ),
        "MPL-2.0",
    ),
    Source(
        "debian-edu",
        ("debian-edu-doc-en", "debian-edu-doc-{tag}"),
        files(
            pages, "debian-edu-doc-en/usr/**/debian-edu-*-manual.html", english="doc-en", other="doc-{tag}"
        ),
        "GPL-2+",
    ),
    Source(
        "installation-guide",
        ("installation-guide-amd64",),
        files(pages, "installation-guide-amd64/usr/**/en/*.html", english="/en/", other="/{locale}/"),
        "GPL-2",
    ),
    Source(
        "debian-faq",
        ("debian-faq", "debian-faq-{tag}"),
        files(
            pages,
            "debian-faq/usr/**/FAQ/*.en.html",
            english="debian-faq/ FAQ/ .en.",
            other="debian-faq-{tag}/ FAQ/{tag}/ .{tag}.",
        ),
        "its own, copyleft",
        languages=frozenset({"de", "fr", "ja", "zh"}),
    ),
    Source(
        "debian-reference",
        ("debian-reference-en", "debian-reference-{tag}"),
        files(
            pages,
            "debian-reference-en/usr/**/*.en.html",
            english="reference-en/ .en.",
            other="reference-{tag}/ .{tag}.",
        ),
        "GPL-2+",
    ),
    Source(
        "developers-reference",
        ("developers-reference", "developers-reference-{tag}"),
        files(
            pages,
            "developers-reference/usr/share/developers-reference/*.html",
            english="developers-reference/usr share/developers-reference/",
            other="developers-reference-{tag}/usr share/developers-reference/{tag}/",
        ),
        "GPL-2+",
        languages=frozenset({"de", "fr", "ja"}),
    ),
    Source(
        "maint-guide",
        ("maint-guide", "maint-guide-{tag}"),
        files(
            pages,
            "maint-guide/usr/**/*.en.html",
            english="maint-guide/usr doc/maint-guide/ .en.",
            other="maint-guide-{tag}/usr doc/maint-guide-{tag}/ .{tag}.",
        ),
        "GPL-2+",
    ),
    Source("debian-descriptions", (), no_files, "as each package's own, mostly GPL-2+"),
    Source(
        "names",
        ("iso-codes", "libgweather-4-common"),
        catalogues(f"iso-codes/{MO}/iso_[36]*.mo", f"libgweather-4-common/{MO}/*-locations.mo"),
        "LGPL-2.1+, GPL-2+",
        keeps="labels",
    ),
    Source("ding-phrases", ("trans-de-en",), ding, "GPL-2+", keeps="phrases", languages=GERMAN),
    Source("ding-words", ("trans-de-en",), ding, "GPL-2+", keeps="words", languages=GERMAN),
)
