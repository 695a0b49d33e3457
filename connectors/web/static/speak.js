// The page of a speaker: a microphone, two languages, and the captions of the speech.

import { announce } from "./announce.js";
import { keepAwake } from "./awake.js";
import { showCode } from "./code.js";
import { by } from "./dom.js";
import { keep, recalled } from "./memory.js";
import { listen } from "./microphone.js";
import { finished } from "./protocol.js";
import { Room } from "./room.js";
import { Follower } from "./scroll.js";
import { told } from "./speakers.js";
import { reachable } from "./stream.js";
import { CaptionView } from "./view.js";
import { Voices } from "./voices.js";

// Seconds of unprocessed sound after which the speaker is warned; milliseconds between two attempts to load the form.
const LATE_S = 3, AGAIN_MS = 4000;
const root = document.documentElement;
const view = new CaptionView(by("captions"));
const voices = new Voices(by("voices"), (speaker, name) => { by("refusal").textContent = ""; room?.name(speaker, name); });
const follower = new Follower(by("scroller"), () => {});
let room = null, hush = null, kept = recalled();
// Whether a room of this server can be opened again after its end, with the same link.
let reopens = false;

addEventListener("resize", () => { view.release(); follower.keep(); });
by("opening").addEventListener("submit", (event) => { event.preventDefault(); if (!room && !by("speak").disabled) start(); });
by("opening").addEventListener("input", () => press(false));
by("speak").addEventListener("click", () => (room ? stop() : start()));
by("share").addEventListener("click", copy);
by("names").addEventListener("click", () => { by("refusal").textContent = ""; by("speaking").showModal(); });
by("code").addEventListener("click", () => showCode(by("share").dataset.address));
offer();
keepAwake();

async function offer() {
    try {
        const answer = await fetch(reachable("rooms.json"), { cache: "no-store" });
        if (!answer.ok) throw new Error(`status ${answer.status}`);
        const offered = await answer.json();
        for (const side of ["from", "to"]) {
            by(side).replaceChildren(...offered[side].map(({ name, code }) => new Option(name, code, false, code === kept.opening?.[side])));
            by(side).disabled = offered[side].length < 2;
            // Readers of a room with several languages choose one of them. A meeting in several is the usual room there.
            const all = offered[side].map(({ code }) => code).join();
            const takesAll = side === "to" || offered.mixes;
            const isUsual = offered.mixes && !kept.opening;
            if (takesAll && all.includes(",")) by(side).add(new Option("All of these", all, false, isUsual || all === kept.opening?.[side]));
        }
        reopens = offered.kept;
        // Without a language to choose, captions are in the one that is spoken.
        for (const one of document.querySelectorAll(".other")) one.hidden = offered.to.length === 0;
        by("room").value = kept.opening?.room ?? by("room").value;
    } catch {
        say("The captions’ server does not answer. Trying again…");
        setTimeout(offer, AGAIN_MS);
        return;
    }
    say("");
    by("speak").disabled = false;
    press(false);
    if (!kept.key) return;
    if (kept.address) share(kept.address);
    say(reopens ? "This address is that of your room, with its key: keep it to yourself. Its readers can keep their link."
        : "You had a room here. If you continue soon, its readers can keep their link.");
}

// The room that the form describes.
function opening() {
    return { room: by("room").value.trim() || "room", from: by("from").value, to: by("to").value || undefined };
}

// The key of the room that this window had before it was loaded again, unless the form describes another one.
function key() {
    return JSON.stringify(kept.opening) === JSON.stringify(opening()) ? kept.key : undefined;
}

function remember(known) {
    kept = known;
    keep(kept, reopens);
}

// The room of the form cannot be continued.
function forget() {
    if (key() && !reopens) remember({ opening: kept.opening });
}

const spoken = (seconds) => `${Math.max(1, Math.round(seconds))} ${seconds < 1.5 ? "second" : "seconds"} of your speech`;

async function start() {
    say("");
    by("speak").disabled = true;
    try {
        hush = await listen(hear, () => { say("The microphone is gone."); stop(); });
    } catch (error) {
        say(error.message);
        enable();
        return;
    }
    const asked = opening();
    room = new Room(asked, {
        opened: ({ stream, view, key }) => {
            // The suffix of the name changes when the room is opened again.
            const name = reopens ? stream.replace(/\.[0-9a-f]{6}$/, "") : stream;
            const address = reachable(`streams/${encodeURIComponent(name)}?view=${view}`);
            root.dataset.phase = "speaking";
            by("name").textContent = asked.room;
            share(address);
            remember({ opening: asked, key, address });
        },
        changed: show,
        connected: (is) => tell(is ? "listening" : "reconnecting…", is ? "on" : "off"),
        // An invalid name is refused where it was typed.
        notice: (words) => { say(words); by("refusal").textContent = words; },
        lost: (seconds) => say(`The connection was gone for too long. Lost: ${spoken(seconds)}.`),
        over,
    }, key());
    press(true);
    enable();
    tell("connecting…", "");
}

// The room is over; the sentence gives the reason.
function over(sentence) {
    const missing = room.behind >= 1 ? `not captioned: the last ${spoken(room.behind)}` : "";
    const told = [sentence, missing].filter(Boolean).map((one) => `${one[0].toUpperCase()}${one.slice(1)}.`);
    if (told.length) say(told.join(" "));
    forget();
    silence();
    tell("not speaking", "");
    room = null;
    press(false);
    enable();
}

// A disabled button or a removed form loses the focus: set it again.
function enable() {
    by("speak").disabled = false;
    if (["BODY", "INPUT"].includes(document.activeElement.tagName)) by("speak").focus({ preventScroll: true });
}

function hear(pcm, peak) {
    // From -60 dBFS to full scale.
    by("level").style.setProperty("--level", Math.max(0, 1 + Math.log10(Math.max(peak, 1e-6)) / 3).toFixed(3));
    if (!room) return;
    room.send(pcm);
    const late = room.behind;
    const safe = room.unkept > 0 ? "the last two minutes are kept until it has them" : "nothing is lost";
    by("told").textContent = late > LATE_S ? `The server is ${Math.round(late)} seconds behind; ${safe}.` : "";
}

// Speak no more; the last captions still come.
function stop() {
    silence();
    room?.end();
    forget();
    by("speak").disabled = true;
    tell("finishing…", "");
}

function silence() {
    hush?.();
    hush = null;
    by("level").style.setProperty("--level", 0);
    by("told").textContent = "";
}

function show(now, before) {
    if (now.segments !== before.segments || now.language !== before.language || now.speakers !== before.speakers) {
        view.show(now);
        voices.show(now);
        by("names").hidden = now.speakers.length === 0;
        follower.keep();
        by("empty").hidden = [...now.segments.values()].some(({ text, source }) => text || source);
        announce(by("announcer"), told(now, finished(before, now)), now.language.target);
    }
    if (now.sentence !== before.sentence) say(now.sentence ?? "");
}

// Offer the link for readers from now on.
function share(address) {
    by("share").hidden = by("code").hidden = false;
    by("share").dataset.address = address;
}

async function copy() {
    const { address } = by("share").dataset;
    try {
        await navigator.clipboard.writeText(address);
        say("The link is copied: everybody who has it can read this room’s captions.");
    } catch {
        say(address);
    }
}

function press(is) {
    by("speak").setAttribute("aria-pressed", is);
    by("speak-words").textContent = is ? "Stop" : key() ? "Continue speaking" : "Start speaking";
}

function tell(words, live) {
    root.dataset.live = live;
    by("state-words").textContent = words;
}

function say(words) {
    by("notice").textContent = words;
}
