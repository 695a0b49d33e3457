// The connection to a stream's events: it comes back by itself, and a message that does not fit asks for a snapshot.

import { Missed, NOTHING, applied } from "./protocol.js";

// Milliseconds to the next attempt after one that was refused; doubled with each, up to the longest.
const FIRST_WAIT = 500, MAX_WAIT = 10_000;
// A stream tells its state all the time. After so many milliseconds of nothing the connection is taken for dead:
// a network that went away does not always say so.
const DEAD_AFTER = 45_000;

// Follow the events at the address that `address()` gives; returns what follows them anew, as at another address.
//
// changed(known, before): called after each message that changed anything, with what is known and what was.
// connected(is): called with whether the connection stands, when that changes.
// refused(sentence): called when the server will not let this page follow; it is asked again all the same.
export function follow(address, { changed, connected = () => {}, refused = () => {} }) {
    let known = NOTHING, events, wait = FIRST_WAIT, retry, watch, stands = null;

    function open() {
        clearTimeout(retry);
        events?.close();
        events = new EventSource(address());
        events.onopen = heard;
        events.onmessage = take;
        events.onerror = failed;
        heard(false);
    }

    function heard(isOpen = true) {
        clearTimeout(watch);
        watch = setTimeout(() => { tell(false); open(); }, DEAD_AFTER);
        if (isOpen) tell(true);
    }

    function failed() {
        tell(false);
        // The browser tries again by itself, with the last id, unless it was refused.
        if (events.readyState !== EventSource.CLOSED) return;
        later();
        refusal(address()).then((sentence) => sentence && !stands && refused(sentence));
    }

    function later() {
        events.close();
        clearTimeout(retry);
        retry = setTimeout(open, wait);
        wait = Math.min(MAX_WAIT, 2 * wait);
    }

    function take({ data }) {
        heard();
        const before = known;
        try {
            known = applied(known, JSON.parse(data));
        } catch (error) {
            if (!(error instanceof Missed || error instanceof SyntaxError)) throw error;
            console.warn(`surtitle: ${error.message}; asking for a snapshot`);
            later(); // a new EventSource has no last id, which brings one
            return;
        }
        wait = FIRST_WAIT;
        if (known !== before) changed(known, before);
    }

    function tell(is) {
        if (is !== stands) connected(stands = is);
    }

    addEventListener("online", () => { if (stands === false) open(); });
    // A page that is shown again must not wait for a timer that slept.
    addEventListener("pageshow", ({ persisted }) => { if (persisted) open(); });
    open();
    return open;
}

// How a stream is, as { words, live }: in words, and for the lamp. That a server goes away when all is said is no trouble.
export function condition(known, stands, refusal) {
    const words = refusal ? "not connected" : !known ? "connecting…" : known.ended ? "ended" : !stands ? "reconnecting…" : (known.state ?? "live");
    return { words, live: known?.ended ? "ended" : stands ? "on" : "off" };
}

const REFUSALS = {
    403: "The server wants a token that this page does not have: open the whole link again.",
    404: "There is no such room: the link is incomplete, or the room is over. Ask for the link again.",
};

// Why the events are refused for good, as far as that can be said. An EventSource does not tell.
async function refusal(address) {
    try {
        return REFUSALS[(await fetch(address, { method: "HEAD", cache: "no-store" })).status];
    } catch {
        return undefined;
    }
}
