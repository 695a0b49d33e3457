// The caption page of a stream; with ?overlay=1 the overlay.

import { announce } from "./announce.js";
import { keepAwake } from "./awake.js";
import { condition, follow } from "./connection.js";
import { by, say } from "./dom.js";
import { languageMenu, preferred } from "./languages.js";
import { runOverlay } from "./overlay.js";
import { bindDialogs, bindKeys, bindTools } from "./controls.js";
import { finished } from "./protocol.js";
import { Follower } from "./scroll.js";
import { DEFAULTS, apply, keep, query, remembered, valid } from "./settings.js";
import { told } from "./speakers.js";
import { entitle, events, given, path, reachable } from "./stream.js";
import { CaptionView } from "./view.js";

const root = document.documentElement;
entitle("captions");

if (["1", "true", "on"].includes(given.get("overlay"))) runOverlay(events, valid(given));
else runPage();

function runPage() {
    root.dataset.mode = "page";
    let settings = { ...DEFAULTS, ...remembered(), ...valid(given) };
    let known = null, stands = false, refusal = "";
    const view = new CaptionView(by("captions"));
    const follower = new Follower(by("scroller"), (follows) => { by("live").hidden = follows; });
    addEventListener("resize", () => view.release());

    function change(changes) {
        settings = { ...settings, ...changes };
        keep(settings);
        // A choice made here overrides the address from now on.
        const rest = new URLSearchParams(location.search);
        for (const changed of Object.keys(changes)) rest.delete(changed);
        history.replaceState(null, "", location.pathname + (rest.size ? `?${rest}` : ""));
        dress();
    }

    function dress() {
        apply(settings);
        if (known) draw();
        view.release();
        follower.keep();
        tools.show(settings);
        const { source, size, lines, align, font, text, finals } = settings;
        const asked = new URLSearchParams(query({ ...DEFAULTS, source, size, lines, align, font, text, finals }));
        dialogs.show(settings, reachable(`${path}?${new URLSearchParams([["overlay", "1"], ...asked])}`));
    }

    function draw() {
        const { segments } = known;
        view.show(settings.finals ? { ...known, segments: new Map([...segments].filter(([, { final }]) => final)) } : known);
        follower.keep();
    }

    function tellState() {
        const { words, live } = condition(known, stands, refusal);
        root.dataset.live = live;
        say(by("state-words"), words);
        say(by("notice"), refusal || (known?.sentence ?? ""));
    }

    const toLive = () => follower.toLive();
    const dialogs = bindDialogs(() => settings, change, () => change({ ...DEFAULTS }));
    const actions = {
        settings: () => settings, change, toLive, open: dialogs.open,
        // An automatic size has no number yet: use the size on the screen.
        scale: (factor) => change({ size: Math.round(parseFloat(getComputedStyle(by("captions")).fontSize) * factor) }),
    };
    const tools = bindTools(actions);
    bindKeys(actions);
    by("live").addEventListener("click", () => { toLive(); by("scroller").focus({ preventScroll: true }); });
    dress();
    matchMedia("(prefers-color-scheme: light)").addEventListener("change", dress);
    const languages = languageMenu(by("language"), () => again());
    const again = follow(preferred, {
        changed(now, before) {
            known = now;
            if (now.segments !== before.segments || now.language !== before.language || now.speakers !== before.speakers) {
                draw();
                // Captions in the spoken language have no second language to show.
                const isOne = now.language.source !== "" && now.language.source === now.language.target;
                for (const one of document.querySelectorAll(".two")) one.hidden = isOne;
                by("empty").hidden = [...now.segments.values()].some(({ text, source }) => text || source);
                announce(by("announcer"), told(now, finished(before, now)), now.language.target);
            }
            if (now.choices !== before.choices) {
                languages.show(now);
                // Also releases the space that captions in another language took.
                dress();
            }
            tellState();
        },
        connected(is) {
            stands = is;
            if (is) refusal = "";
            tellState();
        },
        refused(sentence) {
            if (known?.ended) return;
            refusal = sentence;
            tellState();
        },
    });
    keepAwake();
}
