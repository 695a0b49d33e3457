// What a window remembers of its room when it is loaded again: { opening, key, address }. The key is a secret: no other
// window gets it, and it is gone with this one, unless the room can be opened again: then the page's own address has it,
// behind the #, which no server is told. A browser may forbid remembering; the page then works without.

const NAME = "surtitle.room";

export function recalled() {
    const { key, ...opening } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
    let known = {};
    try {
        known = JSON.parse(sessionStorage.getItem(NAME)) ?? {};
    } catch { /* see above */ }
    return key && key !== known.key ? { opening, key } : known;
}

// reopens: whether its room can be opened again, also by another window or later.
export function keep(known, reopens) {
    try {
        sessionStorage.setItem(NAME, JSON.stringify(known));
    } catch { /* see above */ }
    if (reopens && known.key) {
        const { room, from, to } = known.opening;
        const asked = new URLSearchParams({ room, from, ...(to && { to }), key: known.key });
        history.replaceState(null, "", `${location.pathname}${location.search}#${asked}`);
    }
}
