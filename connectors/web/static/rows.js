// The rows of a caption: where its lines break, and that they stay where they are when the text is revised.
//
// Everything here is pure. Positions are UTF-16 units. `fit(text, wide)` returns how many units of a text fit into one
// row, or into one that is `wide` times as wide: at least 1 unless the text is empty.

// A revised row may be wider than the display by this factor; the view draws it in smaller letters.
export const SQUEEZE = 1.2;

export const NO_ROWS = Object.freeze({ text: "", starts: Object.freeze([0]) });

// Where the rows of `text` begin, as { text, starts }, when `before` are the rows on display.
//
// gone: rows that have left the display; they keep their words. Any other row keeps its break while its words fit,
// however they were revised. If they do not fit, the row and all that follow are broken again.
export function broken(before, text, fit, gone = 0) {
    const at = positions(before.text, text), starts = [0];
    const kept = before.starts.map((start, row) => (row === 0 ? 0 : at(start, row <= gone)));
    for (let next = 1; ; ) {
        const from = starts.at(-1), isGone = starts.length <= gone && next < kept.length;
        // A row that is gone stays a row, even if empty, so that the rows after it are still counted right.
        while (!isGone && next < kept.length && (kept[next] === null || kept[next] <= from)) next += 1;
        const isKept = next < kept.length, end = isKept ? kept[next] : text.length;
        const row = text.slice(from, end);
        if (isGone || (isKept && fit(row, SQUEEZE) >= row.length)) {
            starts.push(Math.max(from, end));
            next += 1;
            continue;
        }
        const count = fit(row);
        if (count >= row.length) return { text, starts };
        starts.push(from + count);
        // The end of a row that overflows does not stand alone, unless it is half a row.
        if (isKept && row.length - count < count / 2) next += 1;
    }
}

// Words; in scripts without spaces, characters. A space belongs to the word before it.
const UNSPACED = "\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}";
const WORD = new RegExp(`\\s*(?:[${UNSPACED}][\\p{M}\\p{P}]*|[^\\s${UNSPACED}]+)\\s*`, "gu");

// The words of a text: where each begins, and its form for comparison. An added full stop or capital does not make it
// another word.
function words(text) {
    return [...text.matchAll(WORD)].map(({ 0: word, index }) => {
        const bare = word.replace(/[\p{P}\s]/gu, "").toLowerCase();
        return { at: index, bare: bare || word.trim() };
    });
}

// A function that returns the start of a row after a revision: before the word that began it, else after the word
// before that, else null. A `forced` start (rows before it are gone) is never null, and comes after the last word that
// is left: a revised end of a row that is gone is shown again rather than never.
function positions(before, after) {
    // Most updates only append; but a text that ends within a word may continue it.
    if (after.startsWith(before) && !/[^\s\p{P}]{2}/u.test(after.slice(before.length - 1, before.length + 1))) return (start) => start;
    const olds = words(before), news = words(after), partner = matched(olds, news);
    const begin = (index) => news[index]?.at ?? after.length;
    return (start, forced) => {
        let word = olds.findIndex(({ at }) => at >= start);
        if (word < 0) word = olds.length;
        if (olds[word]?.at !== start && word > 0 && start < before.length && partner[word - 1] !== undefined) {
            return Math.min(begin(partner[word - 1]) + start - olds[word - 1].at, begin(partner[word - 1] + 1)); // within a long word
        }
        if (!forced && partner[word] !== undefined) return begin(partner[word]);
        let near = word - 1;
        while (forced && near >= 0 && partner[near] === undefined) near -= 1;
        if (near < 0) return forced ? 0 : null;
        return partner[near] === undefined ? null : begin(partner[near] + 1);
    };
}

// For each word the index of the same word in the other text: a longest common subsequence.
function matched(olds, news) {
    const partner = new Array(olds.length);
    let head = 0, tail = 0;
    const most = Math.min(olds.length, news.length);
    const same = (one, other) => olds[one].bare === news[other].bare;
    while (head < most && same(head, head)) partner[head] = head++;
    while (tail < most - head && same(olds.length - 1 - tail, news.length - 1 - tail)) {
        tail += 1;
        partner[olds.length - tail] = news.length - tail;
    }
    const rows = olds.length - tail - head, columns = news.length - tail - head;
    const longest = Array.from({ length: rows + 1 }, () => new Uint16Array(columns + 1));
    for (let row = rows - 1; row >= 0; row -= 1) {
        for (let column = columns - 1; column >= 0; column -= 1) {
            longest[row][column] = same(head + row, head + column) ? longest[row + 1][column + 1] + 1
                : Math.max(longest[row + 1][column], longest[row][column + 1]);
        }
    }
    for (let row = 0, column = 0; row < rows && column < columns; ) {
        if (same(head + row, head + column)) partner[head + row++] = head + column++;
        else if (longest[row + 1][column] >= longest[row][column + 1]) row += 1;
        else column += 1;
    }
    return partner;
}
