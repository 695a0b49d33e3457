// The room that a window remembers when it is loaded again: { opening, key, address }. The key is a secret: no other
// window gets it, and it is lost with this one. Only if the room can be opened again, the page's own address has it,
// after the #, which browsers do not send to servers.

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
