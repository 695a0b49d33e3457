// Following the newest caption, unless the reader scrolled up to read earlier ones.

const GLIDE_MS = 400;

// scroller: the element that scrolls. moved(follows): called when that changes.
export class Follower {
    #follows = true;
    #height = 0;
    #asked = -Infinity;

    constructor(scroller, moved) {
        this.scroller = scroller;
        this.moved = moved;
        scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
        new ResizeObserver(() => this.keep()).observe(scroller);
    }

    get follows() {
        return this.#follows;
    }

    // After captions changed: stay with the newest, or stay where the reader is.
    keep() {
        if (this.#follows) this.scroller.scrollTop = this.scroller.scrollHeight;
        this.#height = this.#heights();
    }

    toLive() {
        this.#asked = performance.now();
        this.#turn(true);
        this.keep();
    }

    #scrolled() {
        const { scrollTop, scrollHeight, clientHeight } = this.scroller;
        const isAtEnd = scrollHeight - scrollTop - clientHeight < 4;
        // A scroll by key glides on for a moment after the return to the newest caption.
        if (performance.now() - this.#asked < GLIDE_MS) this.keep();
        else if (isAtEnd) this.#turn(true);
        // If the heights changed, too, it was not the reader who scrolled.
        else if (this.#heights() === this.#height) this.#turn(false);
        this.#height = this.#heights();
    }

    #heights() {
        return this.scroller.scrollHeight * 1e5 + this.scroller.clientHeight;
    }

    #turn(follows) {
        if (follows !== this.#follows) this.moved(this.#follows = follows);
    }
}
