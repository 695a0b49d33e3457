// The connection of a speaker: sound out, captions in. It reconnects by itself and sends sound that was not received.

import { Missed, NOTHING, applied } from "./protocol.js";
import { reachable } from "./stream.js";

const FIRST_WAIT = 500, MAX_WAIT = 5000;
// Bytes of a second of sound, and maximum bytes that are kept until the server has them: two minutes.
const SECOND = 32_000, MAX_KEPT = 120 * SECOND;
// Close codes after which reconnecting is useless: done, refused, too long, opened elsewhere.
const OVER = new Set([1000, 1008, 1009, 4001]);

export class Room {
    #socket = null;
    #key = null;
    #last = null;
    #kept = []; // the newest pieces that the server has not confirmed
    #bytes = 0; // of all of them
    #from = 0; // bytes that were spoken before the first of them
    #received = 0; // bytes that were spoken and received, or are lost
    #base = null; // bytes that the server counts beyond these: those of an earlier page, less what was lost
    #isReady = false;
    #isEnding = false;
    #wait = FIRST_WAIT;
    #retry;
    #known = NOTHING;

    // opening: the room to open: { room, from, to }. key: that of a room that an earlier page opened, to continue it.
    // told: { opened, changed(known, before), connected(is), notice(sentence), lost(seconds), over(sentence) }.
    constructor(opening, told, key = null) {
        this.opening = opening;
        this.told = told;
        this.#key = key;
        this.#connect();
    }

    // Seconds of sound that the server does not have yet.
    get behind() {
        return (this.#from + this.#bytes - this.#received) / SECOND;
    }

    // Seconds of these that are not kept: they are lost if the connection is lost.
    get unkept() {
        return (this.#from - this.#received) / SECOND;
    }

    send(piece) {
        if (this.#isEnding) return;
        this.#kept.push(piece);
        this.#bytes += piece.byteLength;
        while (this.#bytes > MAX_KEPT) this.#drop();
        if (this.#isReady) this.#socket.send(piece);
    }

    // Rename a voice; a notice gives the reason if that fails.
    name(speaker, name) {
        if (this.#isReady) this.#socket.send(JSON.stringify({ type: "name", speaker, name }));
    }

    // No more sound comes; the last captions still do.
    end() {
        this.#isEnding = true;
        if (this.#isReady) this.#socket.send(JSON.stringify({ type: "end" }));
    }

    #connect() {
        const address = new URL(reachable("rooms"));
        address.protocol = address.protocol.replace("http", "ws");
        const socket = this.#socket = new WebSocket(address);
        let sentence = "";
        socket.onopen = () => {
            socket.send(JSON.stringify({ type: "open", ...this.opening, key: this.#key, last: this.#last }));
        };
        socket.onmessage = ({ data }) => {
            const message = JSON.parse(data);
            if (message.type === "refused") sentence = message.sentence;
            else this.#take(message);
        };
        socket.onclose = ({ code }) => {
            this.#isReady = false;
            if (code === 1008 && this.#key && this.#base === null) {
                this.#key = null;
                this.told.notice("Your earlier room has ended. This is a new one: its readers need the new link.");
                this.#connect();
                return;
            }
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
        // A restarted server counts from 0: bytes that an earlier one has confirmed are not sent again.
        if (message.received < this.#base + this.#received) this.#base = message.received - this.#received;
        this.#wait = FIRST_WAIT;
        this.#base ??= message.received;
        this.#forget(message.received);
        const lost = this.unkept;
        // The server does not count bytes that it never gets.
        this.#base -= lost * SECOND;
        this.#received = this.#from;
        for (const piece of this.#kept) this.#socket.send(piece);
        this.#isReady = true;
        this.told.opened(message);
        this.told.connected(true);
        if (lost > 0) this.told.lost(lost);
        if (this.#isEnding) this.end();
    }

    #forget(received) {
        this.#received = received - this.#base;
        while (this.#kept.length && this.#from + this.#kept[0].byteLength <= this.#received) this.#drop();
    }

    #drop() {
        const { byteLength } = this.#kept.shift();
        this.#bytes -= byteLength;
        this.#from += byteLength;
    }

    #caption(message) {
        const before = this.#known;
        try {
            this.#known = applied(before, message);
        } catch (error) {
            if (!(error instanceof Missed)) throw error;
            console.warn(`surtitle: ${error.message}; requesting a snapshot`);
            this.#last = null; // brings a snapshot
            this.#socket.close();
            return;
        }
        this.#last = message.id ?? this.#last;
        if (this.#known !== before) this.told.changed(this.#known, before);
    }
}
