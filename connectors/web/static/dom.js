// Functions of all pages for elements, and for the data that this browser stores.

export const by = (id) => document.getElementById(id);

// An element with these properties and children.
export function make(tag, properties = {}, ...children) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
}

// Set the text of an element; an equal text is not touched.
export function say(element, words) {
    if (element.textContent !== words) element.textContent = words;
}

// The part in which two texts differ: where it begins, and where it ends in each of them.
export function difference(before, after) {
    const most = Math.min(before.length, after.length);
    let head = 0, tail = 0;
    while (head < most && before[head] === after[head]) head += 1;
    while (tail < most - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
    return { from: head, before: before.length - tail, after: after.length - tail };
}

// A browser may forbid storage; the pages then work without it.
export function recall(name, storage = "localStorage") {
    try {
        return JSON.parse(window[storage].getItem(name));
    } catch {
        return null;
    }
}

export function remember(name, value, storage = "localStorage") {
    try {
        window[storage].setItem(name, JSON.stringify(value));
    } catch { /* see above */ }
}
