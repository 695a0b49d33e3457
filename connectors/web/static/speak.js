// The page of a speaker: a microphone, two languages, and the captions of what is said.

import { announce } from "./announce.js";
import { listen } from "./microphone.js";
import { finished } from "./protocol.js";
import { Room } from "./room.js";
import { Follower } from "./scroll.js";
import { reachable } from "./stream.js";
import { CaptionView } from "./view.js";

// Seconds of sound on the way after which the speaker is told.
const LATE_S = 3;
const root = document.documentElement;
const by = (id) => document.getElementById(id);
const view = new CaptionView(by("captions"));
const follower = new Follower(by("scroller"), () => {});
let room = null, hush = null;

addEventListener("resize", () => { view.release(); follower.keep(); });
by("opening").addEventListener("submit", (event) => { event.preventDefault(); start(); });
by("speak").addEventListener("click", () => (room ? stop() : start()));
by("share").addEventListener("click", share);
offer();

async function offer() {
    try {
        const answer = await fetch(reachable("/rooms.json"), { cache: "no-store" });
        if (!answer.ok) throw new Error(`status ${answer.status}`);
        const offered = await answer.json();
        for (const side of ["from", "to"]) {
            by(side).replaceChildren(...offered[side].map(({ name, code }) => new Option(name, code)));
            by(side).disabled = offered[side].length < 2;
        }
    } catch {
        say("The captions’ server does not answer. Load this page again when it runs.");
        by("speak").disabled = true;
    }
}

async function start() {
    say("");
    by("speak").disabled = true;
    const opening = { room: by("room").value.trim() || "room", from: by("from").value, to: by("to").value };
    try {
        hush = await listen(hear, () => { say("The microphone is gone."); stop(); });
    } catch (error) {
        say(error.message);
        by("speak").disabled = false;
        return;
    }
    root.dataset.phase = "speaking";
    room = new Room(opening, {
        opened: ({ stream, view }) => {
            by("name").textContent = opening.room;
            by("share").hidden = false;
            by("share").dataset.address = reachable(`/streams/${encodeURIComponent(stream)}?view=${view}`);
        },
        changed: show,
        connected: (is) => tell(is ? "listening" : "reconnecting…", is ? "on" : "off"),
        notice: say,
        over: (sentence) => { if (sentence) say(sentence); silence(); tell("not speaking", ""); room = null; press(false); by("speak").disabled = false; },
    });
    press(true);
    by("speak").disabled = false;
    tell("connecting…", "");
}

function hear(pcm, peak) {
    // From -60 dBFS to full scale.
    by("level").style.setProperty("--level", Math.max(0, 1 + Math.log10(Math.max(peak, 1e-6)) / 3).toFixed(3));
    if (!room) return;
    room.send(pcm);
    const late = room.behind;
    by("told").textContent = late > LATE_S ? `The server is ${Math.round(late)} seconds behind; nothing is lost.` : "";
}

// Speak no more; the last captions still come.
function stop() {
    silence();
    room?.end();
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
    if (now.segments !== before.segments || now.language !== before.language) {
        view.show(now);
        follower.keep();
        by("empty").hidden = [...now.segments.values()].some(({ text, source }) => text || source);
        announce(by("announcer"), finished(before, now).map(({ text }) => text), now.language.target);
    }
    if (now.sentence !== before.sentence) say(now.sentence ?? "");
}

async function share() {
    const { address } = by("share").dataset;
    try {
        await navigator.clipboard.writeText(address);
        say("The link is copied: whoever has it can read this room’s captions.");
    } catch {
        say(address);
    }
}

function press(is) {
    by("speak").setAttribute("aria-pressed", is);
    by("speak-words").textContent = is ? "Stop" : "Start speaking";
}

function tell(words, live) {
    root.dataset.live = live;
    by("state-words").textContent = words;
}

function say(words) {
    by("notice").textContent = words;
}
