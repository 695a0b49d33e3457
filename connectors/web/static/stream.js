// The stream of a page, from its address.

// The address of surtitle's pages: a proxy may have them in a folder.
const root = new URL("..", import.meta.url);

// The path of the stream's page, without a slash at its end. A name may contain slashes, and may be "control".
const below = location.pathname.slice(root.pathname.length).replace(/\/+$/, "").replace(/^(streams\/.+)\/control$/, "$1");
export const path = root.pathname + below;

// The parameters of the page's address.
export const given = new URLSearchParams(location.search);
const full = decoded(below.replace(/^streams\//, ""));

// Whether it is a room, which can be reached only by its link: no page lists it.
export const isRoom = given.has("view");

// Its name for readers: that of a room without the suffix that distinguishes rooms of one name.
const name = isRoom ? full.replace(/\.[0-9a-f]{6}$/, "") : full;

// An address of this server, with the token if this page's address has one: a program without a cookie, such as OBS,
// has no other access. The same applies to the secret for reading a room, and to the language.
export function reachable(address) {
    const url = new URL(address, root);
    for (const name of ["token", "view", "lang"]) if (given.get(name)) url.searchParams.set(name, given.get(name));
    return url.href;
}

// The operator's key, which no link for readers has: after the "#", so that no server or proxy sees it in an address.
export const operatorKey = encodeURIComponent(new URLSearchParams(location.hash.slice(1)).get("key") ?? "");

// Show the name of the stream on the page.
export function entitle(kind) {
    document.title = `${name} – ${kind}`;
    document.getElementById("name").textContent = name;
    if (isRoom) for (const one of ["href", "title"]) document.getElementById("home").removeAttribute(one);
}

// The address of the stream's events in the first of these languages that it has, or else in its own first one.
export function inLanguages(codes) {
    const asked = new URLSearchParams(given.get("view") ? { view: given.get("view") } : {});
    if (codes.length) asked.set("lang", codes.join());
    return path + "/events" + (asked.size ? `?${asked}` : "");
}

// The address of the events in the language that the page's address names.
export const events = inLanguages(given.get("lang") ? [given.get("lang")] : []);

function decoded(part) {
    try {
        return decodeURIComponent(part);
    } catch {
        return part;
    }
}
