// The page of a run that goes on: it loads itself anew until the run has ended, and says when nothing comes any more.

const live = document.querySelector(".live");
const drawn = Number(live.dataset.drawn);
const [again, doubt] = [live.dataset.again, live.dataset.doubt].map((seconds) => 1000 * Number(seconds));
const loaded = Date.now();

function words(milliseconds) {
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

// What somebody reads is not taken away: a figure in a curve, a page in another tab. Folds stay open.
const folds = [...document.querySelectorAll("details")];
const busy = () => document.hidden || document.querySelector(".reading-now") || String(getSelection());

function remember() {
  try {
    sessionStorage.setItem(location.pathname, JSON.stringify(folds.map((fold) => fold.open)));
  } catch {} // a browser may keep nothing for files
}

try {
  const open = JSON.parse(sessionStorage.getItem(location.pathname)) ?? [];
  folds.forEach((fold, k) => (fold.open = open[k] ?? fold.open));
} catch {}

function tick() {
  const age = Date.now() - drawn;
  live.querySelector(".ago").textContent = `, ${words(Math.max(age, 0))} ago`;
  live.classList.toggle("doubtful", age > doubt);
  live.querySelector(".silence").textContent = words(age);
  // Of a run that seems dead it looks less often whether somebody has gone on with it.
  if (Date.now() - loaded >= (age > doubt ? Math.max(again, 30_000) : again) && !busy()) {
    remember();
    location.reload();
  }
}

live.classList.add("watched");
tick();
setInterval(tick, 1000);
