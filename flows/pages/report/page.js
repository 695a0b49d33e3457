"use strict";
// The page is complete without this: it adds values under the pointer and at the keyboard, and sorting.
document.documentElement.classList.add("js");

const tip = document.getElementById("tip");
const told = document.getElementById("told");

function show(mark) {
  hide();
  mark.classList.add("at");
  tip.textContent = mark.dataset.tip;
  tip.hidden = false;
  place();
}

function place() {
  const mark = document.querySelector(".mark.at");
  if (!mark) return;
  const at = mark.getBoundingClientRect();
  const left = at.left + at.width / 2 - tip.offsetWidth / 2;
  tip.style.left = `${Math.max(4, Math.min(left, document.documentElement.clientWidth - tip.offsetWidth - 4))}px`;
  const above = at.top - tip.offsetHeight - 6;
  tip.style.top = `${above > 4 ? above : Math.min(at.bottom + 6, innerHeight - tip.offsetHeight - 4)}px`;
}

function hide() {
  tip.hidden = true;
  for (const one of document.querySelectorAll(".mark.at")) one.classList.remove("at");
}

// The row under the pointer shows its time in the picture next to it.
function mark_time(row) {
  for (const one of document.querySelectorAll(".now.at")) one.classList.remove("at");
  const now = row && row.closest(".run").querySelector(".now");
  if (!now) return;
  now.setAttribute("x1", row.dataset.x);
  now.setAttribute("x2", row.dataset.x);
  now.classList.add("at");
}

// Not when it enters: a page that is scrolled by the keyboard moves under a pointer that rests.
let pointed = null;
document.addEventListener("pointermove", (event) => {
  if (event.target === pointed) return;
  pointed = event.target;
  mark_time(pointed.closest(".rows li"));
  const mark = pointed.closest(".mark");
  if (mark) show(mark);
  else hide();
});
// A plot that takes the focus may still be on its way: the value goes along.
document.addEventListener("scroll", place, { capture: true, passive: true });

// A plot takes the focus; arrows go from value to value, and each is told.
for (const plot of document.querySelectorAll(".plot")) {
  plot.setAttribute("tabindex", "0");
  plot.setAttribute("role", "application");
  plot.setAttribute("aria-roledescription", "plot, arrow keys tell its values");
}
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") return hide();
  const plot = event.target.closest(".plot");
  if (!plot || event.altKey || event.ctrlKey || event.metaKey) return;
  const marks = [...plot.querySelectorAll(".mark")];
  const now = marks.findIndex((mark) => mark.classList.contains("at"));
  const next = { ArrowRight: now + 1, ArrowDown: now + 1, ArrowLeft: now - 1, ArrowUp: now - 1, Home: 0,
    End: marks.length - 1 }[event.key];
  if (next === undefined || !marks.length) return;
  event.preventDefault();
  const mark = marks[Math.max(0, Math.min(marks.length - 1, next))];
  show(mark);
  told.textContent = mark.dataset.tip;
});
document.addEventListener("focusout", hide);

// Sorting: numbers from the greatest down at first, what is missing last.
const table = document.getElementById("list");
const heads = [...table.tHead.rows[0].cells];
heads.forEach((head, column) => {
  if (head.classList.contains("plain")) return;
  const button = document.createElement("button");
  button.type = "button";
  button.append(...head.childNodes);
  head.append(button);
  button.addEventListener("click", () => {
    const first = column === 0 ? "ascending" : "descending";
    const other = column === 0 ? "descending" : "ascending";
    const order = head.getAttribute("aria-sort") === first ? other : first;
    for (const one of heads) if (one.hasAttribute("aria-sort")) one.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    const value = (row) => row.cells[column].dataset.order;
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => (value(a) === "") - (value(b) === "") || sign * (value(a) - value(b)));
    table.tBodies[0].append(...rows);
    told.textContent = `sorted by ${button.textContent}, ${order}`;
  });
});

// A row leads to a picture that may be closed.
function open() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (!target || target.tagName !== "DETAILS") return;
  target.open = true;
  target.scrollIntoView();
  target.querySelector("summary").focus({ preventScroll: true });
}
addEventListener("hashchange", open);
open();
