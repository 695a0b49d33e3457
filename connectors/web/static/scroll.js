// Following the newest caption, unless the reader scrolled up to read what was said before.

// scroller: the element that scrolls. moved(follows): called when that changes.
export class Follower {
    #follows = true;
    #height = 0;

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
        this.#turn(true);
        this.keep();
    }

    #scrolled() {
        const { scrollTop, scrollHeight, clientHeight } = this.scroller;
        const isAtEnd = scrollHeight - scrollTop - clientHeight < 4;
        // When the heights changed too it was not the reader who scrolled.
        if (isAtEnd) this.#turn(true);
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
