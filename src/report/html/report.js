// Draws the report's charts as SVG from the JSON in #data. No library, no network: the page must open from a mail attachment.
(() => {
  'use strict';
  const D = JSON.parse(document.getElementById('data').textContent);
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const esc = s => String(s).replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);
  const DASH = '–', MINUS = '−';

  // ---- numbers and dates ------------------------------------------------------------------------------------------
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
  const tickText = step => v => {
    if (Math.abs(v) >= 1e7 || (v !== 0 && step < 1e-5)) return v.toExponential(1).replace('-', MINUS);
    return num(v, Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9))));
  };
  const iso = t => new Date(t).toISOString();
  const daily = D.interval_ms >= 86400e3;
  const when = t => (daily ? iso(t).slice(0, 10) : iso(t).slice(0, D.interval_ms < 60e3 ? 19 : 16).replace('T', ' '));

  // ---- ticks ------------------------------------------------------------------------------------------------------
  function niceTicks(lo, hi, count) {
    const raw = (hi - lo) / Math.max(1, count), mag = 10 ** Math.floor(Math.log10(raw));
    const step = mag * [1, 2, 2.5, 5, 10].find(m => m * mag >= raw * 0.999);
    const ticks = [];
    for (let k = Math.ceil(lo / step - 1e-9); k * step <= hi + step * 1e-9; k++) ticks.push(k * step);
    return { ticks, step };
  }
  function logTicks(lo, hi, count) {
    const wide = Math.log10(hi / lo);
    if (wide < 0.7) return niceTicks(lo, hi, count);
    const picks = wide > count ? [1] : wide * 3 > count ? [1, 3] : [1, 2, 5], ticks = [];
    const stride = Math.max(1, Math.ceil(wide / count));
    for (let e = Math.floor(Math.log10(lo)); e <= Math.log10(hi); e++) {
      if (e % stride) continue;
      for (const m of picks) if (m * 10 ** e >= lo && m * 10 ** e <= hi) ticks.push(m * 10 ** e);
    }
    return { ticks, step: Math.min(1, lo) };
  }
  const S = 1e3, M = 60 * S, H = 60 * M, DAY = 24 * H;
  const STEPS = [S, 5 * S, 15 * S, 30 * S, M, 5 * M, 15 * M, 30 * M, H, 3 * H, 6 * H, 12 * H, DAY, 2 * DAY, 7 * DAY, 14 * DAY];
  const NAMES = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
  function timeTicks(lo, hi, count) {
    const step = STEPS.find(s => (hi - lo) / s <= count), out = [];
    if (step) {
      for (let t = Math.ceil(lo / step) * step; t <= hi; t += step) {
        const d = new Date(t), midnight = t % DAY === 0;
        out.push([t, midnight || step >= DAY ? `${NAMES[d.getUTCMonth()]} ${d.getUTCDate()}` : iso(t).slice(11, step < M ? 19 : 16)]);
      }
      return out;
    }
    const months = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600].find(m => (hi - lo) / (m * 30.44 * DAY) <= count) || 1200;
    const first = new Date(lo);
    let k = Math.ceil((first.getUTCFullYear() * 12 + first.getUTCMonth()) / months) * months;
    for (;; k += months) {
      const t = Date.UTC(Math.floor(k / 12), k % 12, 1);
      if (t > hi) return out;
      if (t >= lo) out.push([t, k % 12 === 0 ? String(k / 12) : NAMES[k % 12]]);
    }
  }

  // ---- drawing helpers --------------------------------------------------------------------------------------------
  const r1 = v => Math.round(v * 10) / 10;
  function lowerBound(array, value, lo = 0, hi = array.length) {
    while (lo < hi) { const mid = (lo + hi) >> 1; if (array[mid] < value) lo = mid + 1; else hi = mid; }
    return lo;
  }
  /// Path through points [from, to): per pixel column only first, lowest, highest and last, so long series stay light.
  function trace(X, Y, from, to, sx, sy, stepped) {
    const move = stepped ? (x, y, pen) => (pen ? `H${x}V${y}` : `M${x},${y}`) : (x, y, pen) => `${pen ? 'L' : 'M'}${x},${y}`;
    let out = '', pen = false, col = null, y0, lo, hi, y1;
    const flush = () => {
      if (col === null) return;
      out += move(col, y0, pen); pen = true;
      if (lo !== y0 && lo !== y1) out += move(col, lo, true);
      if (hi !== y0 && hi !== y1) out += move(col, hi, true);
      if (y1 !== y0) out += move(col, y1, true);
      col = null;
    };
    for (let i = from; i < to; i++) {
      if (missing(Y[i])) { flush(); pen = false; continue; }
      const x = r1(sx(X[i])), y = r1(sy(Y[i])), c = Math.round(x);
      if (col !== null && c === Math.round(col)) { lo = Math.min(lo, y); hi = Math.max(hi, y); y1 = y; } else { flush(); col = x; y0 = lo = hi = y1 = y; }
    }
    flush();
    return out;
  }
  const tip = document.body.appendChild(Object.assign(document.createElement('div'), { className: 'tip' }));
  function showTip(event, html) {
    tip.innerHTML = html; tip.style.display = 'block';
    const w = tip.offsetWidth, h = tip.offsetHeight, x = event.clientX, y = event.clientY;
    tip.style.left = Math.max(4, x + 16 + w > innerWidth ? x - w - 16 : x + 16) + 'px';
    tip.style.top = Math.max(4, Math.min(innerHeight - h - 4, y + 14)) + 'px';
  }
  const hideTip = () => { tip.style.display = 'none'; };
  const rows = list => '<table>' + list.map(([k, v, c]) => `<tr><td>${esc(k)}</td><td class="${c || ''}">${v}</td></tr>`).join('') + '</table>';

  // ---- the linked panels ------------------------------------------------------------------------------------------
  const T = [], EQ = [], BH = [], PX = [], EX = [], DD = [], spans = [];
  for (const w of D.windows) {
    const from = T.length;
    let t = w.t0;
    w.dt.forEach(d => { t += d; T.push(t); });
    for (const [all, part] of [[EQ, w.equity], [BH, w.benchmark], [PX, w.price], [EX, w.exposure], [DD, w.drawdown]]) for (const v of part) all.push(v);
    if (T.length > from) spans.push({ ...w, from, to: T.length, start: T[from], end: T[T.length - 1] });
  }
  const R = D.rolling;
  const trades = D.trades.entry_t.map((_, i) => Object.fromEntries(Object.keys(D.trades).map(k => [k, D.trades[k][i]])));
  const WHY = { signal: 'signal', flip: 'changed sides', stop: 'stop', take: 'take-profit', time: 'time limit', liquidation: 'liquidation', end: 'end of window' };
  const view = { log: false, price: true, trades: true, lo: 0, hi: 1, at: null };
  const full = spans.length ? [spans[0].start, spans[spans.length - 1].end] : [0, 1];
  if (full[0] === full[1]) full[1] += 1;
  [view.lo, view.hi] = full;

  const shade = p => spans.map((w, k) => {
    const a = Math.max(p.left, p.sx(w.start)), b = Math.min(p.right, p.sx(w.end));
    if (b < p.left || a > p.right) return '';
    const label = p.first && b - a > 34 ? `<text x="${r1(a + 5)}" y="${p.top + 11}">${b - a > 74 ? 'window ' : 'w'}${w.index}</text>` : '';
    return (k % 2 ? '' : `<rect class="band" x="${r1(a)}" y="${p.top}" width="${r1(b - a)}" height="${p.bottom - p.top}"/>`) + (spans.length > 1 && k ? `<path class="edge" d="M${r1(a)},${p.top}V${p.bottom}"/>` : '') + label;
  }).join('');
  const visible = w => [Math.max(w.from, lowerBound(T, view.lo, w.from, w.to) - 1), Math.min(w.to, lowerBound(T, view.hi, w.from, w.to) + 1)];
  const eachVisible = f => spans.filter(w => w.end >= view.lo && w.start <= view.hi).map(w => f(...visible(w), w)).join('');
  function extent(series, floor) {
    let lo = Infinity, hi = -Infinity;
    eachVisible((a, b) => { for (const Y of series) for (let i = a; i < b; i++) if (!missing(Y[i]) && !(Y[i] <= floor)) { if (Y[i] < lo) lo = Y[i]; if (Y[i] > hi) hi = Y[i]; } });
    if (lo > hi) return [0, 1];
    if (lo === hi) return [lo - Math.max(1e-9, Math.abs(lo) * 0.01), hi + Math.max(1e-9, Math.abs(hi) * 0.01)];
    return [lo, hi];
  }
  const padded = ([lo, hi], share = 0.06) => [lo - (hi - lo) * share, hi + (hi - lo) * share];
  const marks = {
    up: (x, y, s) => `M${x},${r1(y - s)}l${s},${r1(1.7 * s)}h${-2 * s}z`, down: (x, y, s) => `M${x},${r1(y + s)}l${s},${r1(-1.7 * s)}h${-2 * s}z`,
    ring: (x, y, s) => `M${r1(x - s)},${y}a${s},${s} 0 1 0 ${2 * s},0a${s},${s} 0 1 0 ${-2 * s},0`, cross: (x, y, s) => `M${r1(x - s)},${r1(y - s)}l${2 * s},${2 * s}m0,${-2 * s}l${-2 * s},${2 * s}`,
  };
  function drawTrades(p, entryY, exitY, holds) {
    if (!view.trades) return '';
    const seen = trades.filter(q => q.exit_t >= view.lo && q.entry_t <= view.hi);
    const size = seen.length > 500 ? 2 : seen.length > 120 ? 3 : 4.5, fade = seen.length > 500 ? 0.55 : 1, d = { long: '', short: '', win: '', loss: '', 'hold-win': '', 'hold-loss': '' };
    for (const q of seen) {
      const x0 = r1(p.sx(q.entry_t)), x1 = r1(p.sx(q.exit_t)), y0 = r1(p.sy(q[entryY])), y1 = r1(p.sy(q[exitY]));
      d[q.side > 0 ? 'long' : 'short'] += (q.side > 0 ? marks.up : marks.down)(x0, y0, size);
      if (q.pnl > 0) d.win += marks.ring(x1, y1, size * 0.8); else d.loss += marks.cross(x1, y1, size * 0.75);
      if (holds && x1 - x0 > 2) d[q.pnl > 0 ? 'hold-win' : 'hold-loss'] += `M${x0},${y0}L${x1},${y1}`;
      p.hits.push([x0, y0, q], [x1, y1, q]);
    }
    return ['hold-win', 'hold-loss', 'win', 'loss', 'long', 'short'].map(c => d[c] && `<path class="${c}" opacity="${c.startsWith('hold') ? 0.75 : fade}" d="${d[c]}"/>`).join('');
  }
  const panels = [
    {
      id: 'equity', height: 340, short: 260, first: true,
      domain: () => { const [lo, hi] = extent([EQ, BH], view.log ? 0 : -Infinity); return view.log ? (lo > 0 ? [lo / (hi / lo) ** 0.06, hi * (hi / lo) ** 0.06] : [1, 1000]) : padded([lo, hi]); },
      log: () => view.log,
      draw: p => eachVisible((a, b) => `<path class="line bench" d="${trace(T, BH, a, b, p.sx, p.sy)}"/><path class="line agent" d="${trace(T, EQ, a, b, p.sx, p.sy)}"/>`) + drawTrades(p, 'entry_equity', 'exit_equity'),
      dots: [[EQ, 'fill-agent'], [BH, 'fill-bench']],
    },
    {
      id: 'price', height: 190, short: 160, shown: () => view.price, log: () => false,
      domain: () => padded(extent([PX])),
      draw: p => eachVisible((a, b) => `<path class="line price" d="${trace(T, PX, a, b, p.sx, p.sy)}"/>`) + drawTrades(p, 'entry_price', 'exit_price', true),
      dots: [[PX, 'fill-agent']],
    },
    {
      id: 'underwater', height: 130, short: 110, log: () => false, ticks: 3, format: v => pct(v, Math.abs(view.depth) < 0.03 ? 1 : 0),
      domain: () => { const [lo] = extent([DD]); view.depth = Math.min(lo, -0.001); return [view.depth * 1.06, 0]; },
      draw: p => eachVisible((a, b) => { const d = trace(T, DD, a, b, p.sx, p.sy); return `<path class="under" d="${d && `M${r1(p.sx(T[a]))},${r1(p.sy(0))}L${d.slice(1)}L${r1(p.sx(T[b - 1]))},${r1(p.sy(0))}z`}"/>`; }),
      dots: [],
    },
    {
      id: 'exposure', height: 110, short: 100, log: () => false, ticks: 3, format: v => pct(v, 0), zero: true,
      domain: () => { const [lo, hi] = extent([EX]); return padded([Math.min(0, lo), Math.max(lo < 0 ? 0 : 0.001, hi)], 0.08); },
      draw: p => eachVisible((a, b) => { const d = trace(T, EX, a, b, p.sx, p.sy, true); return `<path class="expo" d="${d && `M${r1(p.sx(T[a]))},${r1(p.sy(0))}L${d.slice(1)}H${r1(p.sx(T[b - 1]))}V${r1(p.sy(0))}z`}"/>`; }),
      dots: [],
    },
    {
      id: 'rolling', height: 140, short: 120, log: () => false, ticks: 4, zero: true,
      domain: () => {
        let lo = 0, hi = 0;
        R.t.forEach((t, i) => { if (t >= view.lo && t <= view.hi) for (const v of [R.agent[i], R.benchmark[i]]) if (!missing(v)) { lo = Math.min(lo, v); hi = Math.max(hi, v); } });
        return lo === hi ? [-1, 1] : padded([lo, hi]);
      },
      draw: p => `<path class="line bench" d="${trace(R.t, R.benchmark, 0, R.t.length, p.sx, p.sy)}"/><path class="line agent" d="${trace(R.t, R.agent, 0, R.t.length, p.sx, p.sy)}"/>`,
      dots: [],
    },
  ].filter(p => (p.box = $(`#panel-${p.id}`)));

  function drawPanel(p) {
    const shown = !p.shown || p.shown();
    p.box.style.display = shown ? '' : 'none';
    if (!shown) return;
    const plot = $('.plot', p.box), width = plot.clientWidth, narrow = width < 560, height = narrow ? p.short : p.height;
    Object.assign(p, { left: narrow ? 46 : 60, right: width - 10, top: 8, bottom: height - 22, hits: [] });
    const [lo, hi] = p.domain(), log = p.log();
    p.sx = t => p.left + (t - view.lo) / (view.hi - view.lo) * (p.right - p.left);
    const unit = log ? v => Math.log(Math.max(v, lo) / lo) / Math.log(hi / lo) : v => (v - lo) / (hi - lo);
    p.sy = v => p.bottom - unit(v) * (p.bottom - p.top);
    const { ticks, step } = (log ? logTicks : niceTicks)(lo, hi, p.ticks || Math.round(height / 55)), text = p.format || tickText(step);
    const grid = ticks.map(v => `<path class="grid" d="M${p.left},${r1(p.sy(v))}H${p.right}"/><text x="${p.left - 7}" y="${r1(p.sy(v) + 3.8)}" text-anchor="end">${text(v)}</text>`).join('');
    const xs = timeTicks(view.lo, view.hi, Math.max(2, (p.right - p.left) / 85)).map(([t, s]) => `<path class="axis" d="M${r1(p.sx(t))},${p.bottom}v4"/><text x="${r1(p.sx(t))}" y="${p.bottom + 16}" text-anchor="middle">${s}</text>`).join('');
    const zero = p.zero && lo <= 0 && hi >= 0 ? `<path class="zero" d="M${p.left},${r1(p.sy(0))}H${p.right}"/>` : '';
    plot.innerHTML = `<svg height="${height}" role="img" aria-label="${esc(p.box.dataset.label)}"><clipPath id="clip-${p.id}"><rect x="${p.left}" y="0" width="${p.right - p.left}" height="${p.bottom + 1}"/></clipPath>`
      + `${grid}<g clip-path="url(#clip-${p.id})">${shade(p)}${zero}${p.draw(p)}</g><path class="axis" d="M${p.left},${p.bottom}H${p.right}"/>${xs}<g class="hover"></g></svg>`;
    p.svg = plot.firstChild;
  }
  const draw = () => { panels.forEach(drawPanel); view.at = null; const reset = $('#reset'); if (reset) reset.disabled = view.lo === full[0] && view.hi === full[1]; };
  function zoom(lo, hi) { if (hi - lo >= Math.max(2, D.interval_ms * 4)) { view.lo = Math.max(full[0], lo); view.hi = Math.min(full[1], hi); } draw(); }

  const nearest = t => { const k = lowerBound(T, t); return k > 0 && (k === T.length || t - T[k - 1] < T[k] - t) ? k - 1 : k; };
  function cross(k, x) {
    view.at = k;
    for (const p of panels) if (p.svg && (!p.shown || p.shown())) {
      const px = k === null ? x : p.sx(T[k]);
      $('.hover', p.svg).innerHTML = px == null ? '' : `<path class="cross" d="M${r1(px)},${p.top}V${p.bottom}"/>` + p.dots.filter(([Y]) => !missing(Y[k])).map(([Y, c]) => `<circle class="dot ${c}" r="4" cx="${r1(px)}" cy="${r1(p.sy(Y[k]))}"/>`).join('');
    }
  }
  function barTip(k) {
    const w = spans.find(s => k < s.to), roll = R.t.length ? Math.min(R.t.length - 1, lowerBound(R.t, T[k])) : -1;
    return `<b>${when(T[k])}</b>${spans.length > 1 ? ` · window ${w.index}` : ''}` + rows([
      [D.policy, `${num(EQ[k])} (${signed(EQ[k] - 100, pct(EQ[k] / 100 - 1, 1))})`], ['buy-and-hold', `${num(BH[k])} (${signed(BH[k] - 100, pct(BH[k] / 100 - 1, 1))})`],
      ['price', auto(PX[k])], ['drawdown', pct(DD[k], 1)], ['exposure', pct(EX[k], 0)], ...(roll >= 0 ? [['rolling Sharpe', num(R.agent[roll])]] : [])]);
  }
  const tradeTip = q => `<b>${q.side > 0 ? '▲ Long' : '▼ Short'}</b> · window ${q.window}` + rows([
    ['entered', `${when(q.entry_t)}`], ['at', auto(q.entry_price)], ['left', when(q.exit_t)], ['at', auto(q.exit_price)], ['P&L', signed(q.pnl, num(q.pnl)), tone(q.pnl)],
    ['of equity', signed(q.trade_return, pct(q.trade_return)), tone(q.trade_return)], ['bars held', num(q.bars_held, 0)], ['closed by', esc(WHY[q.reason] || q.reason)]]);

  function bindLinked() {
    for (const p of panels) {
      const plot = $('.plot', p.box);
      let from = null;
      const at = e => { const x = e.clientX - plot.getBoundingClientRect().left; return Math.max(p.left, Math.min(p.right, x)); };
      const time = x => view.lo + (x - p.left) / (p.right - p.left) * (view.hi - view.lo);
      plot.addEventListener('pointerdown', e => { if (e.button === 0) from = at(e); });
      plot.addEventListener('pointermove', e => {
        const x = at(e), y = e.clientY - plot.getBoundingClientRect().top, k = nearest(time(x));
        cross(k);
        if (from !== null && Math.abs(x - from) > 6) $('.hover', p.svg).innerHTML += `<rect class="brush" x="${Math.min(x, from)}" y="${p.top}" width="${Math.abs(x - from)}" height="${p.bottom - p.top}"/>`;
        let best = null, reach = 11;
        for (const [hx, hy, q] of p.hits) { const d = Math.hypot(hx - x, hy - y); if (d < reach) { reach = d; best = q; } }
        showTip(e, best ? tradeTip(best) : barTip(k));
      });
      const leave = () => { hideTip(); cross(null); from = null; };
      plot.addEventListener('pointerleave', leave);
      plot.addEventListener('pointercancel', leave);
      plot.addEventListener('pointerup', e => { const x = at(e), a = from; from = null; if (a !== null && Math.abs(x - a) > 6) { const [lo, hi] = [time(Math.min(a, x)), time(Math.max(a, x))]; zoom(lo, hi); } });
      plot.addEventListener('dblclick', () => zoom(...full));
    }
    const toggle = (id, key) => { const b = $(id); if (b) b.addEventListener('click', () => { view[key] = !view[key]; b.setAttribute('aria-pressed', view[key]); draw(); }); };
    toggle('#toggle-log', 'log'); toggle('#toggle-price', 'price'); toggle('#toggle-trades', 'trades');
    $('#reset').addEventListener('click', () => { $('#pick').value = ''; zoom(...full); });
    $('#pick').innerHTML = '<option value="">All windows</option>' + spans.map((w, k) => `<option value="${k}">Window ${w.index}: ${iso(w.start).slice(0, 10)} to ${iso(w.end).slice(0, 10)}</option>`).join('');
    $('#pick').style.display = spans.length > 1 ? '' : 'none';
    $('#pick').addEventListener('change', e => { const w = spans[e.target.value]; if (w) zoom(w.start, w.end); else zoom(...full); });
    $('#linked').addEventListener('keydown', e => {
      if (e.target.id !== 'linked') return;
      const move = { ArrowLeft: -1, ArrowRight: 1 }[e.key], span = view.hi - view.lo;
      if (e.key === 'Escape') zoom(...full); else if (e.key === '+') zoom(view.lo + span / 4, view.hi - span / 4); else if (e.key === '-') zoom(view.lo - span / 2, view.hi + span / 2);
      else if (move) {
        e.preventDefault();
        const k = Math.max(0, Math.min(T.length - 1, (view.at ?? nearest((view.lo + view.hi) / 2)) + move * (e.shiftKey ? 20 : 1))), p = panels[0], box = $('.plot', p.box).getBoundingClientRect();
        cross(k); showTip({ clientX: box.left + p.sx(T[k]), clientY: box.top + 40 }, barTip(k));
      }
    });
  }

  // ---- histogram --------------------------------------------------------------------------------------------------
  function drawHistogram() {
    const box = $('#histogram'), h = D.histogram;
    if (!box || !h) return;
    const width = box.clientWidth, height = 250, left = 46, right = width - 10, top = 26, bottom = height - 24, n = h.counts.length;
    const max = Math.max(1, ...h.counts), sx = v => left + (v - h.lo) / (h.hi - h.lo) * (right - left), sy = c => bottom - c / max * (bottom - top - 8), wide = (h.hi - h.lo) / n;
    const inside = v => !missing(v) && -v > h.lo && -v < h.hi;
    const { ticks } = niceTicks(0, max, 4), xt = niceTicks(h.lo, h.hi, Math.max(2, width / 90)), text = v => pct(v, Math.max(0, Math.min(4, -Math.floor(Math.log10(xt.step * 100) + 1e-9))));
    const bars = h.counts.map((c, i) => { const x0 = sx(h.lo + i * wide), x1 = sx(h.lo + (i + 1) * wide); return c ? `<rect class="${h.lo + (i + 0.5) * wide < 0 ? 'bar-neg' : 'bar-pos'}" opacity=".75" x="${r1(x0 + 0.5)}" y="${r1(sy(c))}" width="${r1(Math.max(0.6, x1 - x0 - 1))}" height="${r1(Math.max(0.8, bottom - sy(c)))}"/>` : ''; }).join('');
    const mark = (v, name, c, y) => (inside(v) ? `<path class="mark ${c}" d="M${r1(sx(-v))},${y + 4}V${bottom}"/><text class="strong" x="${r1(sx(-v))}" y="${y}" text-anchor="${sx(-v) < left + 60 ? 'start' : 'middle'}">${name} ${pct(v)}</text>` : '');
    box.innerHTML = `<svg height="${height}" role="img" aria-label="Histogram of bar returns">${ticks.map(v => `<path class="grid" d="M${left},${r1(sy(v))}H${right}"/><text x="${left - 6}" y="${r1(sy(v) + 4)}" text-anchor="end">${num(v, 0)}</text>`).join('')}${bars}`
      + `<path class="axis" d="M${left},${bottom}H${right}"/>${xt.ticks.map(v => `<text x="${r1(sx(v))}" y="${bottom + 16}" text-anchor="middle">${text(v)}</text>`).join('')}${mark(h.var, h.names[0], '', 22)}${mark(h.cvar, h.names[1], 'cvar', 9)}</svg>`;
    box.onpointermove = e => {
      const i = Math.floor((e.clientX - box.getBoundingClientRect().left - left) / (right - left) * n);
      if (i < 0 || i >= n) return hideTip();
      const a = h.lo + i * wide, open = i === 0 && h.below ? 'below ' : i === n - 1 && h.above ? 'above ' : '';
      showTip(e, `<b>${open ? open + text(i ? a : a + wide) : `${pct(a, 3)} to ${pct(a + wide, 3)}`}</b><br>${num(h.counts[i], 0)} bars`);
    };
    box.onpointerleave = hideTip;
  }

  // ---- training curves --------------------------------------------------------------------------------------------
  // A colour-blind safe run from blue over green to amber, dark enough on white and light enough on black.
  const hue = (k, n) => { const stops = [[70, 90, 200], [30, 140, 190], [25, 155, 120], [150, 150, 40], [225, 125, 30]], x = n < 2 ? 0.2 : k / (n - 1) * (stops.length - 1), i = Math.min(stops.length - 2, Math.floor(x)); return `rgb(${stops[i].map((c, j) => Math.round(c + (stops[i + 1][j] - c) * (x - i))).join(' ')})`; };
  function drawTraining() {
    const folds = D.training.folds;
    for (const [at, s] of D.training.series.entries()) {
      const box = $(`#training-${at}`), width = box.clientWidth, height = 130, left = 46, right = width - 8, top = 6, bottom = height - 20;
      let lo = Infinity, hi = -Infinity, x0 = Infinity, x1 = -Infinity;
      for (const f of s.folds) f.y.forEach((v, i) => { if (!missing(v)) { lo = Math.min(lo, v); hi = Math.max(hi, v); x0 = Math.min(x0, f.x[i]); x1 = Math.max(x1, f.x[i]); } });
      if (lo > hi) { box.innerHTML = '<p class="empty">undefined in every epoch</p>'; continue; }
      [lo, hi] = lo === hi ? [lo - Math.max(1e-6, Math.abs(lo) * 0.1), hi + Math.max(1e-6, Math.abs(hi) * 0.1)] : padded([lo, hi]);
      if (x0 === x1) { x0 -= 0.5; x1 += 0.5; }
      const sx = v => left + (v - x0) / (x1 - x0) * (right - left), sy = v => bottom - (v - lo) / (hi - lo) * (bottom - top), { ticks, step } = niceTicks(lo, hi, 3), xs = niceTicks(x0, x1, 4).ticks.filter(Number.isInteger);
      const lines = s.folds.map(f => { const c = hue(folds.indexOf(f.fold), folds.length); return f.x.length === 1 ? `<circle r="3" cx="${r1(sx(f.x[0]))}" cy="${missing(f.y[0]) ? -9 : r1(sy(f.y[0]))}" fill="${c}"/>` : `<path class="line" style="stroke:${c}" d="${trace(f.x, f.y, 0, f.x.length, sx, sy)}"/>`; }).join('');
      box.innerHTML = `<svg height="${height}" role="img" aria-label="${esc(s.label)} per epoch">${ticks.map(v => `<path class="grid" d="M${left},${r1(sy(v))}H${right}"/><text x="${left - 6}" y="${r1(sy(v) + 4)}" text-anchor="end">${tickText(step)(v)}</text>`).join('')}${lines}<path class="axis" d="M${left},${bottom}H${right}"/>${xs.map(v => `<text x="${r1(sx(v))}" y="${bottom + 15}" text-anchor="middle">${v}</text>`).join('')}<g class="hover"></g></svg>`;
      box.onpointermove = e => {
        const epoch = Math.max(x0, Math.min(x1, Math.round(x0 + (e.clientX - box.getBoundingClientRect().left - left) / (right - left) * (x1 - x0))));
        $('.hover', box).innerHTML = `<path class="cross" d="M${r1(sx(epoch))},${top}V${bottom}"/>`;
        showTip(e, `<b>epoch ${epoch}</b>` + rows(s.folds.map(f => [`fold ${f.fold}`, auto(f.y[f.x.indexOf(epoch)])])));
      };
      box.onpointerleave = () => { hideTip(); $('.hover', box).innerHTML = ''; };
    }
    const legend = $('#folds');
    if (legend) legend.innerHTML = folds.map((f, k) => `<span class="key"><i style="border-color:${hue(k, folds.length)}"></i>fold ${f}</span>`).join('');
  }

  // ---- tables -----------------------------------------------------------------------------------------------------
  function sortable(table) {
    const heads = $$('thead tr:last-child th', table);
    heads.forEach((th, column) => {
      if (!th.dataset.sort) return;
      th.innerHTML = `<button type="button">${th.innerHTML}</button>`;
      th.firstChild.addEventListener('click', () => {
        const down = th.getAttribute('aria-sort') !== 'descending', body = table.tBodies[0], key = tr => { const v = tr.cells[column].dataset.v; return v === undefined || v === '' ? null : +v; };
        heads.forEach(h => h.removeAttribute('aria-sort'));
        th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        // Undefined values stay at the bottom whichever way the column is sorted.
        [...body.rows].map(tr => [key(tr), tr]).sort(([a], [b]) => (a === null ? (b === null ? 0 : 1) : b === null ? -1 : down ? b - a : a - b)).forEach(([, tr]) => body.append(tr));
      });
    });
  }
  function listTrades(which) {
    const body = $('#trade-rows');
    if (!body) return;
    let list = trades;
    if (which !== 'all') { list = [...trades].sort((a, b) => (which === 'best' ? b.pnl - a.pnl : a.pnl - b.pnl)).slice(0, 20); }
    const cell = (v, text, c = '') => `<td data-v="${v ?? ''}" class="${c}">${text}</td>`;
    body.innerHTML = list.map(q => `<tr><th scope="row" data-v="${q.entry_t}">${when(q.entry_t)}</th>${cell(q.window, q.window)}<td class="left" data-v="${q.side}">${q.side > 0 ? '▲ long' : '▼ short'}</td>${cell(q.units, auto(q.units))}${cell(q.entry_price, auto(q.entry_price))}`
      + `<td data-v="${q.exit_t}">${when(q.exit_t)}</td>${cell(q.exit_price, auto(q.exit_price))}${cell(q.pnl, signed(q.pnl, num(q.pnl)), tone(q.pnl))}${cell(q.trade_return, signed(q.trade_return, pct(q.trade_return)), tone(q.trade_return))}${cell(q.bars_held, num(q.bars_held, 0))}<td class="left">${esc(WHY[q.reason] || q.reason)}</td></tr>`).join('');
    $$('#trades thead th').forEach(h => h.removeAttribute('aria-sort'));
    $$('#trade-tabs button').forEach(b => b.setAttribute('aria-pressed', b.dataset.which === which));
  }

  // ---- start ------------------------------------------------------------------------------------------------------
  const drawAll = () => { if (T.length) draw(); drawHistogram(); drawTraining(); };
  if (T.length && $('#linked')) bindLinked();
  $$('#trade-tabs button').forEach(b => b.addEventListener('click', () => listTrades(b.dataset.which)));
  listTrades('all');
  $$('table.sortable').forEach(sortable);
  drawAll();
  let last = innerWidth, timer;
  addEventListener('resize', () => { clearTimeout(timer); timer = setTimeout(() => { if (innerWidth !== last) { last = innerWidth; drawAll(); } }, 80); });
  $$('details').forEach(d => d.addEventListener('toggle', () => { if (d.open) drawTraining(); }));
  addEventListener('beforeprint', () => { $$('details').forEach(d => { d.open = true; }); drawAll(); });
})();
