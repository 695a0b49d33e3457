// Which stream a page is about: its address says so.

// Where surtitle's pages are: a proxy may have them in a folder.
const root = new URL("..", import.meta.url);

// Where the stream's page is, without a slash at its end. A name may have slashes in it, and may be "control".
const below = location.pathname.slice(root.pathname.length).replace(/\/+$/, "").replace(/^(streams\/.+)\/control$/, "$1");
export const path = root.pathname + below;

// What the page's address asks for.
export const given = new URLSearchParams(location.search);
const full = decoded(below.replace(/^streams\//, ""));

// Whether it is a room, which its link alone leads to: no page lists it.
export const isRoom = given.has("view");

// Its name for readers: that of a room without what tells it from others of its name.
const name = isRoom ? full.replace(/\.[0-9a-f]{6}$/, "") : full;

// An address of this server with the token that let this browser in, where its own address has one: a program
// that was never here, as OBS, has no other way in. Likewise with the secret that a room is read with, and the language.
export function reachable(address) {
    const url = new URL(address, root);
    for (const name of ["token", "view", "lang"]) if (given.get(name)) url.searchParams.set(name, given.get(name));
    return url.href;
}

// The operator's key, which no link for readers has: behind the "#", so that no server or proxy sees it in an address.
export const operatorKey = encodeURIComponent(new URLSearchParams(location.hash.slice(1)).get("key") ?? "");

// Say on the page which stream it is about.
export function entitle(kind) {
    document.title = `${name} – ${kind}`;
    document.getElementById("name").textContent = name;
    if (isRoom) for (const one of ["href", "title"]) document.getElementById("home").removeAttribute(one);
}

// Where the stream's events are, in the first of these languages that it has; its own first one without any.
export function inLanguages(codes) {
    const asked = new URLSearchParams(given.get("view") ? { view: given.get("view") } : {});
    if (codes.length) asked.set("lang", codes.join());
    return path + "/events" + (asked.size ? `?${asked}` : "");
}

// The same in the language that the page's address names.
export const events = inLanguages(given.get("lang") ? [given.get("lang")] : []);

function decoded(part) {
    try {
        return decodeURIComponent(part);
    } catch {
        return part;
    }
}
