// Announcements for screen readers: each finished sentence once, never a partial.

import { make } from "./dom.js";

// Maximum announcements of a burst (the newest), and milliseconds after which one is removed from the page, so that
// somebody who reads with the cursor does not find it twice.
const MAX_ANNOUNCED = 3, STAYS = 20_000;

// Put `sentences` into `region`, an element with aria-live.
export function announce(region, sentences, language = "") {
    for (const sentence of sentences.slice(-MAX_ANNOUNCED)) {
        const announced = make("p", { lang: language, dir: "auto", textContent: sentence });
        region.append(announced);
        setTimeout(() => announced.remove(), STAYS);
    }
}
