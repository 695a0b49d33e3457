// The language of the captions, if a stream has several: a menu with each language's own name.

import { recall, remember } from "./dom.js";
import { given, inLanguages } from "./stream.js";

const NAME = "surtitle-language";

// The address of the events: in the language of the link, else in the one that was chosen here last.
export function preferred() {
    return inLanguages([given.get("lang"), recall(NAME)].filter(Boolean));
}

// `select`, a menu that is hidden where there is no choice. chosen(): called when the reader has chosen another language.
export function languageMenu(select, chosen) {
    select.addEventListener("change", () => {
        remember(NAME, select.value);
        given.set("lang", select.value);
        // A link that somebody copies now must be for this language.
        const query = new URLSearchParams(location.search);
        query.set("lang", select.value);
        history.replaceState(null, "", `${location.pathname}?${query}`);
        chosen();
    });
    return {
        show({ language, choices }) {
            select.hidden = choices.length === 0;
            select.replaceChildren(...choices.map(({ code, name, dir }) => Object.assign(new Option(name, code), { lang: code, dir })));
            select.value = language.target;
            // Links of this page, such as that of the overlay, use the language that is shown.
            if (choices.length) given.set("lang", language.target);
        },
    };
}
