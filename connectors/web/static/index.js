// The streams that there are, and the ways to each.

import { reachable } from "./stream.js";

const EVERY_MS = 4000;
const list = document.getElementById("streams");
const lead = document.getElementById("lead");
const cards = new Map();

async function look() {
    try {
        const answer = await fetch(reachable("streams.json"), { cache: "no-store" });
        if (!answer.ok) throw new Error(`status ${answer.status}`);
        show(await answer.json());
    } catch {
        list.hidden = true;
        say("The captions’ server does not answer. Trying again…");
    }
    setTimeout(look, EVERY_MS);
}

function show(streams) {
    say(streams.length ? "" : "No stream yet. This page finds it as soon as there is one.");
    lead.hidden = streams.length > 0;
    list.hidden = false;
    const names = new Set(streams.map(({ name }) => String(name)));
    for (const [name, card] of cards) {
        if (!names.has(name)) { card.item.remove(); cards.delete(name); }
    }
    for (const stream of streams) {
        const name = String(stream.name);
        if (!cards.has(name)) cards.set(name, added(name));
        write(cards.get(name).state, String(stream.state ?? ""));
        cards.get(name).item.classList.toggle("ended", stream.state === "ended");
        write(cards.get(name).counts, `${many(stream.segments, "sentence")} · ${many(stream.clients, "reader")}`);
    }
}

function added(name) {
    const address = `streams/${encodeURIComponent(name)}`;
    const item = element("li");
    const state = element("span");
    const line = element("p", { className: "state" });
    line.append(element("span", { className: "lamp" }), state);
    const counts = element("p", { className: "counts" });
    const more = element("p", { className: "more" });
    // A name of its own for each link: "Overlay" alone says little in a list of links.
    const links = { Overlay: `${address}?overlay=1`, "Control room": `${address}/control` };
    more.append(...Object.entries(links).map(([text, href]) => {
        const link = element("a", { href: reachable(href), textContent: text });
        link.setAttribute("aria-label", `${text} of ${name}`);
        return link;
    }));
    item.append(element("a", { className: "page", href: reachable(address), textContent: name }), line, counts, more);
    list.append(item);
    return { item, state, counts };
}

const many = (count, word) => `${Number(count) || 0} ${word}${Number(count) === 1 ? "" : "s"}`;

function say(words) {
    lead.hidden = false;
    write(lead, words);
}

function write(place, words) {
    if (place.textContent !== words) place.textContent = words;
}

function element(tag, properties = {}) {
    return Object.assign(document.createElement(tag), properties);
}

look();
