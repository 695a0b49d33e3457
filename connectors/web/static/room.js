// The connection of a speaker: sound out, captions in. It comes back by itself and sends what was not received.

import { Missed, NOTHING, applied } from "./protocol.js";
import { reachable } from "./stream.js";

const FIRST_WAIT = 500, MAX_WAIT = 5000;
// Bytes of sound that are kept until the server has them: two minutes.
const MAX_KEPT = 120 * 32_000;
// Close codes after which coming back is useless: done, refused, too long, opened elsewhere.
const OVER = new Set([1000, 1008, 1009, 4001]);

export class Room {
    #socket = null;
    #key = null;
    #last = null;
    #kept = []; // pieces that the server has not confirmed
    #from = 0; // bytes before the first of them
    #isReady = false;
    #isEnding = false;
    #wait = FIRST_WAIT;
    #retry;
    #known = NOTHING;

    // opening: what to open: { room, from, to }.
    // told: { opened, changed(known, before), connected(is), notice(sentence), over(sentence) }.
    constructor(opening, told) {
        this.opening = opening;
        this.told = told;
        this.#connect();
    }

    // Seconds of sound that the server does not have yet.
    get behind() {
        return this.#kept.reduce((sum, piece) => sum + piece.byteLength, 0) / 32_000;
    }

    send(piece) {
        if (this.#isEnding) return;
        this.#kept.push(piece);
        while (this.behind * 32_000 > MAX_KEPT) this.#from += this.#kept.shift().byteLength;
        if (this.#isReady) this.#socket.send(piece);
    }

    // No more sound comes; the last captions still do.
    end() {
        this.#isEnding = true;
        if (this.#isReady) this.#socket.send(JSON.stringify({ type: "end" }));
    }

    #connect() {
        const address = new URL(reachable("/rooms"));
        address.protocol = address.protocol.replace("http", "ws");
        const socket = this.#socket = new WebSocket(address);
        let sentence = "";
        socket.onopen = () => {
            const { key } = { key: this.#key };
            socket.send(JSON.stringify({ type: "open", ...this.opening, key, last: this.#last }));
        };
        socket.onmessage = ({ data }) => {
            const message = JSON.parse(data);
            if (message.type === "refused") sentence = message.sentence;
            else this.#take(message);
        };
        socket.onclose = ({ code }) => {
            this.#isReady = false;
            if (OVER.has(code) || (code === 1013 && !this.#key)) {
                this.told.over(sentence);
                return;
            }
            this.told.connected(false);
            this.#retry = setTimeout(() => this.#connect(), this.#wait);
            this.#wait = Math.min(MAX_WAIT, 2 * this.#wait);
        };
    }

    #take(message) {
        switch (message.type) {
            case "opened": return this.#opened(message);
            case "received": return this.#forget(message.received);
            case "notice": return this.told.notice(message.sentence);
            default: return this.#caption(message);
        }
    }

    #opened(message) {
        this.#key = message.key;
        this.#wait = FIRST_WAIT;
        this.#forget(message.received);
        for (const piece of this.#kept) this.#socket.send(piece);
        this.#isReady = true;
        this.told.opened(message);
        this.told.connected(true);
        if (this.#isEnding) this.end();
    }

    #forget(received) {
        while (this.#kept.length && this.#from + this.#kept[0].byteLength <= received) this.#from += this.#kept.shift().byteLength;
    }

    #caption(message) {
        const before = this.#known;
        try {
            this.#known = applied(before, message);
        } catch (error) {
            if (!(error instanceof Missed)) throw error;
            console.warn(`surtitle: ${error.message}; asking for a snapshot`);
            this.#last = null; // brings a snapshot
            this.#socket.close();
            return;
        }
        this.#last = message.id ?? this.#last;
        if (this.#known !== before) this.told.changed(this.#known, before);
    }
}
