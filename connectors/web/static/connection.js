// The connection to a stream's events: it reconnects by itself, and requests a snapshot if a message does not fit.

import { Missed, NOTHING, applied } from "./protocol.js";

// Milliseconds to the next attempt after one that was refused; doubled with each, up to the longest.
const FIRST_WAIT = 500, MAX_WAIT = 10_000;
// A stream sends its state regularly. After so many milliseconds without data, the connection counts as dead: the
// loss of a network is not always reported.
const DEAD_AFTER = 45_000;

// Follow the events at the address that `address()` returns; returns a function that connects again, as after a change.
//
// changed(known, before): called after each message that changed anything, with the new and the previous state.
// connected(is): called when the connection is made or lost.
// refused(sentence): called when the server refuses this page; it tries again all the same.
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
            console.warn(`surtitle: ${error.message}; requesting a snapshot`);
            later(); // a new EventSource has no last id, so the server sends a snapshot
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

// The condition of a stream, as { words, live }: in words, and for the lamp. After its end, a lost server is no error.
export function condition(known, stands, refusal) {
    const words = refusal ? "not connected" : !known ? "connecting…" : known.ended ? "ended" : !stands ? "reconnecting…" : (known.state ?? "live");
    return { words, live: known?.ended ? "ended" : stands ? "on" : "off" };
}

const REFUSALS = {
    403: "The server requires a token that this page does not have: open the whole link again.",
    404: "There is no such room: the link is incomplete, or the room is over. Ask for the link again.",
};

// The reason why the events are refused for good, if it is known. An EventSource does not report it.
async function refusal(address) {
    try {
        return REFUSALS[(await fetch(address, { method: "HEAD", cache: "no-store" })).status];
    } catch {
        return undefined;
    }
}
