// Which stream a page is about: its address says so.

// Where the stream's page is, without a slash at its end. A name may have slashes in it, and may be "control".
export const path = location.pathname.replace(/\/+$/, "").replace(/^(\/streams\/.+)\/control$/, "$1");

export const name = decoded(path.replace(/^\/streams\//, ""));

const given = new URLSearchParams(location.search);

// An address of this server with the token that let this browser in, where its own address has one: a program
// that was never here, as OBS, has no other way in. Likewise with the secret that a room is read with.
export function reachable(address) {
    const url = new URL(address, location.href);
    for (const name of ["token", "view"]) if (given.get(name)) url.searchParams.set(name, given.get(name));
    return url.href;
}

// Where the stream's events are.
export const events = path + "/events" + (given.get("view") ? `?view=${encodeURIComponent(given.get("view"))}` : "");

function decoded(part) {
    try {
        return decodeURIComponent(part);
    } catch {
        return part;
    }
}
