// Numbers, dates and axis ticks, and the paths and tooltips that every chart draws with. Read first: the scripts share one scope.
'use strict';
const D = JSON.parse(document.getElementById('data').textContent);
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const esc = s => String(s).replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);
const DASH = '–',
  MINUS = '−';

const missing = v => v == null || !Number.isFinite(v);
function num(v, digits = 2) {
  if (missing(v)) return DASH;
  const s = Math.abs(v).toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return (v < 0 && /[1-9]/.test(s) ? MINUS : '') + s;
}
const pct = (v, digits = 2) => (missing(v) ? DASH : num(v * 100, digits) + '%');
const signed = (v, text) => (!missing(v) && v > 0 ? '+' : '') + text;
const tone = v => (missing(v) || v === 0 ? '' : v > 0 ? 'pos' : 'neg');
function auto(v) {
  if (missing(v)) return DASH;
  const a = Math.abs(v);
  if (a === 0) return '0';
  if (a >= 1e7 || a < 1e-4) return v.toExponential(2).replace('-', MINUS);
  return num(v, Math.max(0, Math.min(6, 4 - Math.floor(Math.log10(a)) - 1)));
}
const decimals = step =>
  [0, 1, 2, 3, 4, 5, 6].find(d => Math.abs(step * 10 ** d - Math.round(step * 10 ** d)) < 1e-6) ?? 6;
const tickText = step => v =>
  Math.abs(v) >= 1e7 || (v !== 0 && step < 1e-5) ? v.toExponential(1).replaceAll('-', MINUS) : num(v, decimals(step));
const shareText = step => v => pct(v, decimals(step * 100));
const plain = v => {
  const a = Math.abs(v);
  return a !== 0 && (a >= 1e7 || a < 1e-4)
    ? v.toExponential(0).replace('e+', 'e').replaceAll('-', MINUS)
    : v.toLocaleString('en-US', { maximumSignificantDigits: 6 });
};
const iso = t => new Date(t).toISOString();
const daily = D.interval_ms >= 86400e3;
const when = t =>
  daily
    ? iso(t).slice(0, 10)
    : iso(t)
        .slice(0, D.interval_ms < 60e3 ? 19 : 16)
        .replace('T', ' ');

function niceTicks(lo, hi, count) {
  const raw = (hi - lo) / Math.max(1, count),
    mag = 10 ** Math.floor(Math.log10(raw));
  const step = mag * [1, 2, 2.5, 5, 10].find(m => m * mag >= raw * 0.999);
  const ticks = [];
  for (let k = Math.ceil(lo / step - 1e-9); k * step <= hi + step * 1e-9; k++) ticks.push(k * step);
  return { ticks, step };
}
function logTicks(lo, hi, count) {
  const wide = Math.log10(hi / lo);
  if (wide < 0.7) return niceTicks(lo, hi, count);
  const picks = wide > count ? [1] : wide * 3 > count ? [1, 3] : [1, 2, 5],
    ticks = [];
  const stride = Math.max(1, Math.ceil(wide / count));
  for (let e = Math.floor(Math.log10(lo)); e <= Math.log10(hi); e++) {
    if (e % stride) continue;
    for (const m of picks) if (m * 10 ** e >= lo && m * 10 ** e <= hi) ticks.push(m * 10 ** e);
  }
  return { ticks, text: plain };
}
const S = 1e3,
  M = 60 * S,
  H = 60 * M,
  DAY = 24 * H;
const STEPS = [
  S,
  5 * S,
  15 * S,
  30 * S,
  M,
  5 * M,
  15 * M,
  30 * M,
  H,
  3 * H,
  6 * H,
  12 * H,
  DAY,
  2 * DAY,
  7 * DAY,
  14 * DAY,
];
const NAMES = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
function timeTicks(lo, hi, count) {
  const step = STEPS.find(s => (hi - lo) / s <= count),
    out = [];
  if (step) {
    for (let t = Math.ceil(lo / step) * step; t <= hi; t += step) {
      const d = new Date(t),
        midnight = t % DAY === 0;
      out.push([
        t,
        midnight || step >= DAY ? `${NAMES[d.getUTCMonth()]} ${d.getUTCDate()}` : iso(t).slice(11, step < M ? 19 : 16),
      ]);
    }
    return out;
  }
  const months = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600].find(m => (hi - lo) / (m * 30.44 * DAY) <= count) || 1200;
  const first = new Date(lo);
  let k = Math.ceil((first.getUTCFullYear() * 12 + first.getUTCMonth()) / months) * months;
  for (; ; k += months) {
    const t = Date.UTC(Math.floor(k / 12), k % 12, 1);
    if (t > hi) return out;
    if (t >= lo) out.push([t, k % 12 === 0 ? String(k / 12) : NAMES[k % 12]]);
  }
}

const r1 = v => Math.round(v * 10) / 10;
function lowerBound(array, value, lo = 0, hi = array.length) {
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (array[mid] < value) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}
/// Path through points [from, to): per pixel column only first, lowest, highest and last, so long series stay light.
function trace(X, Y, from, to, sx, sy, stepped) {
  const move = stepped
    ? (x, y, pen) => (pen ? `H${x}V${y}` : `M${x},${y}`)
    : (x, y, pen) => `${pen ? 'L' : 'M'}${x},${y}`;
  let out = '',
    pen = false,
    col = null,
    y0,
    lo,
    hi,
    y1;
  const flush = () => {
    if (col === null) return;
    out += move(col, y0, pen);
    pen = true;
    if (lo !== y0 && lo !== y1) out += move(col, lo, true);
    if (hi !== y0 && hi !== y1) out += move(col, hi, true);
    if (y1 !== y0) out += move(col, y1, true);
    col = null;
  };
  for (let i = from; i < to; i++) {
    if (missing(Y[i])) {
      flush();
      pen = false;
      continue;
    }
    const x = r1(sx(X[i])),
      y = r1(sy(Y[i])),
      c = Math.round(x);
    if (col !== null && c === Math.round(col)) {
      lo = Math.min(lo, y);
      hi = Math.max(hi, y);
      y1 = y;
    } else {
      flush();
      col = x;
      y0 = lo = hi = y1 = y;
    }
  }
  flush();
  return out;
}
const tip = document.body.appendChild(Object.assign(document.createElement('div'), { className: 'tip' }));
function showTip(event, html) {
  tip.innerHTML = html;
  tip.style.display = 'block';
  const w = tip.offsetWidth,
    h = tip.offsetHeight,
    x = event.clientX,
    y = event.clientY;
  tip.style.left = Math.max(4, x + 16 + w > innerWidth ? x - w - 16 : x + 16) + 'px';
  tip.style.top = Math.max(4, Math.min(innerHeight - h - 4, y + 14)) + 'px';
}
const hideTip = () => {
  tip.style.display = 'none';
};
const rows = list =>
  '<table>' +
  list.map(([k, v, c]) => `<tr><td>${esc(k)}</td><td class="${c || ''}">${v}</td></tr>`).join('') +
  '</table>';
