// Which stream a page is about: its address says so.

// Where the stream's page is, without a slash at its end. A name may have slashes in it.
export const path = location.pathname.replace(/\/+$/, "").replace(/\/control$/, "");

export const name = decoded(path.replace(/^\/streams\//, ""));

const token = new URLSearchParams(location.search).get("token");

// An address of this server with the token that let this browser in, where its own address has one: a program
// that was never here, as OBS, has no other way in.
export function reachable(address) {
    const url = new URL(address, location.href);
    if (token) url.searchParams.set("token", token);
    return url.href;
}

function decoded(part) {
    try {
        return decodeURIComponent(part);
    } catch {
        return part;
    }
}
