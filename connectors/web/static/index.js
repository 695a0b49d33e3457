// The list of streams, with links to the pages of each.

import { by, make, say } from "./dom.js";
import { operatorKey, reachable } from "./stream.js";

const EVERY_MS = 4000;
const list = by("streams"), lead = by("lead");
const cards = new Map();

async function look() {
    try {
        const answer = await fetch(reachable("streams.json"), { cache: "no-store" });
        if (!answer.ok) throw new Error(`status ${answer.status}`);
        show(await answer.json());
    } catch {
        list.hidden = true;
        lead.hidden = false;
        say(lead, "The captions’ server does not answer. Trying again…");
    }
    setTimeout(look, EVERY_MS);
}

function show(streams) {
    say(lead, "No stream yet. This page finds it as soon as there is one.");
    lead.hidden = streams.length > 0;
    list.hidden = false;
    const names = new Set(streams.map(({ name }) => name));
    for (const [name, { item }] of cards) if (!names.has(name) && cards.delete(name)) item.remove();
    for (const { name, state, segments, clients } of streams) {
        if (!cards.has(name)) cards.set(name, added(name));
        const card = cards.get(name);
        say(card.state, state);
        card.item.classList.toggle("ended", state === "ended");
        say(card.counts, `${many(segments, "sentence")} · ${many(clients, "reader")}`);
    }
}

function added(name) {
    const address = `streams/${encodeURIComponent(name)}`;
    const state = make("span"), counts = make("p", { className: "counts" });
    // A name of its own for each link: "Overlay" alone says little in a list of links.
    const link = (text, href) => make("a", { href: reachable(href), textContent: text, ariaLabel: `${text} of ${name}` });
    const item = make("li", {},
        make("a", { className: "page", href: reachable(address), textContent: name }),
        make("p", { className: "state" }, make("span", { className: "lamp" }), state),
        counts,
        make("p", { className: "more" }, link("Overlay", `${address}?overlay=1`), link("Control room", `${address}/control${operatorKey && `#key=${operatorKey}`}`)),
    );
    list.append(item);
    return { item, state, counts };
}

const many = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

look();
