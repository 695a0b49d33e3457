// What a window remembers of its room when it is loaded again: { opening, key, address }. The key is a secret: no other
// window gets it, and it is gone with this one. A browser may forbid remembering; the page then works without.

const NAME = "surtitle.room";

export function recalled() {
    try {
        return JSON.parse(sessionStorage.getItem(NAME)) ?? {};
    } catch {
        return {};
    }
}

export function keep(known) {
    try {
        sessionStorage.setItem(NAME, JSON.stringify(known));
    } catch { /* see above */ }
}
