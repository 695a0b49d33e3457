// What a window remembers of its room when it is loaded again: { opening, key, address }. The key is a secret: no other
// window gets it, and it is gone with this one, unless the room can be opened again: then the page's own address has it,
// behind the #, which no server is told.

import { recall, remember } from "./dom.js";

const NAME = "surtitle.room";

export function recalled() {
    const { key, ...opening } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
    const known = recall(NAME, "sessionStorage") ?? {};
    return key && key !== known.key ? { opening, key } : known;
}

// reopens: whether its room can be opened again, also by another window or later.
export function keep(known, reopens) {
    remember(NAME, known, "sessionStorage");
    if (reopens && known.key) {
        const { room, from, to } = known.opening;
        const asked = new URLSearchParams({ room, from, ...(to && { to }), key: known.key });
        history.replaceState(null, "", `${location.pathname}${location.search}#${asked}`);
    }
}
