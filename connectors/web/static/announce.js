// What screen readers say: each finished sentence once, never a partial.

import { make } from "./dom.js";

// Announcements of a burst that are made, the newest; and milliseconds after which one is taken off the page again,
// so that somebody who reads on with the cursor does not meet it twice.
const MAX_ANNOUNCED = 3, STAYS = 20_000;

// Put `sentences` into `region`, an element with aria-live.
export function announce(region, sentences, language = "") {
    for (const sentence of sentences.slice(-MAX_ANNOUNCED)) {
        const announced = make("p", { lang: language, dir: "auto", textContent: sentence });
        region.append(announced);
        setTimeout(() => announced.remove(), STAYS);
    }
}
