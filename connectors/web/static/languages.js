// The language of the captions, where a stream has several: a menu with the name of each in itself.

import { given, inLanguages } from "./stream.js";

const NAME = "surtitle-language";

// The address of the events: in the language of the link, else in the one that was chosen here last.
export function preferred() {
    return inLanguages([given.get("lang"), remembered()].filter(Boolean));
}

// `select`, a menu that is hidden where there is no choice. chosen(): called when the reader has chosen another language.
export function languageMenu(select, chosen) {
    select.addEventListener("change", () => {
        remember(select.value);
        given.set("lang", select.value);
        // The link that somebody copies now is of this language.
        const query = new URLSearchParams(location.search);
        query.set("lang", select.value);
        history.replaceState(null, "", `${location.pathname}?${query}`);
        chosen();
    });
    return {
        show({ language, choices }) {
            select.hidden = choices.length === 0;
            if ([...select.options].map(({ value }) => value).join() !== choices.map(({ code }) => code).join()) {
                select.replaceChildren(...choices.map(option));
            }
            select.value = language.target;
            // Links of this page, such as that of the overlay, are of the language that is shown.
            if (choices.length) given.set("lang", language.target);
        },
    };
}

function option({ code, name, dir }) {
    return Object.assign(new Option(name, code), { lang: code, dir });
}

// A browser may forbid remembering; the page then works without.
function remembered() {
    try {
        return localStorage.getItem(NAME);
    } catch {
        return null;
    }
}

function remember(code) {
    try {
        localStorage.setItem(NAME, code);
    } catch { /* see above */ }
}
