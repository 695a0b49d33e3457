// Buttons, keys and dialogs of the caption page. They pass the reader's choice to `change`, and show the settings.

import { by } from "./dom.js";
import { contrast, lightMedia } from "./settings.js";

const LARGER = 1.1;

// actions: settings(), change(changes), scale(factor), toLive(), open(dialog).
export function bindTools({ settings, change, scale, open }) {
    const bind = (id, action) => by(id).addEventListener("click", action);
    bind("smaller", () => scale(1 / LARGER));
    bind("larger", () => scale(LARGER));
    bind("both", () => change({ source: !settings().source }));
    bind("theme", () => change(otherTheme(settings())));
    bind("whole", wholeScreen);
    bind("set", () => open("settings"));
    bind("ask", () => open("help"));
    by("whole").hidden = !document.fullscreenEnabled;
    return {
        show(settings) {
            by("both").setAttribute("aria-pressed", settings.source);
            by("theme").setAttribute("aria-pressed", lightMedia(settings).matches);
        },
    };
}

export function bindKeys({ settings, change, scale, toLive, open }) {
    const keys = {
        "+": () => scale(LARGER), "=": () => scale(LARGER), "-": () => scale(1 / LARGER), 0: () => change({ size: 0 }),
        t: () => change(otherTheme(settings())), s: () => change({ source: !settings().source }),
        f: wholeScreen, l: toLive, ",": () => open("settings"), "?": () => open("help"),
    };
    document.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
        if (event.key === "End") toLive();
        else if (settings().keys && Object.hasOwn(keys, event.key.toLowerCase())) keys[event.key.toLowerCase()]();
        else return;
        event.preventDefault();
    });
}

// settings(): the current settings. change(changes), reset(): called for a choice in the dialog.
export function bindDialogs(settings, change, reset) {
    const fields = by("settings").querySelectorAll("[name]");
    for (const field of fields) {
        field.addEventListener("input", () => {
            const value = field.type === "checkbox" ? field.checked : field.type === "range" ? Number(field.value) : field.value;
            // Colours belong to a theme: another one brings its own.
            if (field.name === "theme") change({ theme: value, text: "", background: "" });
            else if (field.type === "color") change({ theme: shown(settings()), [field.name]: value.slice(1) });
            else change({ [field.name]: value });
        });
    }
    by("reset").addEventListener("click", reset);
    by("f-link").addEventListener("focus", ({ target }) => target.select());
    return {
        open(id) {
            by(id).showModal();
        },
        show(settings, overlay) {
            const { color, fontSize } = getComputedStyle(by("captions"));
            const background = getComputedStyle(document.documentElement).backgroundColor;
            by("f-size").value = parseFloat(fontSize);
            by("size-said").value = settings.size ? `${settings.size} px` : "fitting";
            by("f-lines").value = settings.lines;
            by("lines-said").value = settings.lines || "all";
            by("f-theme").value = settings.theme;
            showFont(settings.font);
            by("f-text").value = hex(color);
            by("f-background").value = hex(background);
            by("f-align").value = settings.align;
            by("f-source").checked = settings.source;
            by("f-finals").checked = settings.finals;
            by("f-keys").checked = settings.keys;
            by("f-link").value = overlay;
            showContrast(contrast(rgb(color), rgb(background)));
        },
    };
}

function showFont(font) {
    const select = by("f-font");
    // A font from the address is a choice like the others.
    if (![...select.options].some(({ value }) => value === font)) select.add(new Option(font));
    select.value = font;
}

function showContrast(ratio) {
    const isPoor = ratio < 7;
    by("contrast-said").textContent = isPoor ? `contrast ${ratio.toFixed(1)} : 1, hard to read` : "";
    by("contrast-said").classList.toggle("poor", isPoor);
}

const shown = (settings) => (lightMedia(settings).matches ? "light" : "dark");
const otherTheme = (settings) => ({ theme: shown(settings) === "light" ? "dark" : "light", text: "", background: "" });

function wholeScreen() {
    const done = document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen();
    done.catch(() => { /* refused, as in a frame */ });
}

const rgb = (colour) => (colour.match(/[\d.]+/g) ?? [0, 0, 0]).slice(0, 3).map(Number);
const hex = (colour) => `#${rgb(colour).map((value) => Math.round(value).toString(16).padStart(2, "0")).join("")}`;
