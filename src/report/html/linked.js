// The panels that share one time axis: equity, price, underwater, exposure, rolling Sharpe.

const T = [],
  EQ = [],
  BH = [],
  PX = [],
  EX = [],
  DD = [],
  spans = [];
for (const w of D.windows) {
  const from = T.length;
  let t = w.t0;
  w.dt.forEach(d => {
    t += d;
    T.push(t);
  });
  for (const [all, part] of [
    [EQ, w.equity],
    [BH, w.benchmark],
    [PX, w.price],
    [EX, w.exposure],
    [DD, w.drawdown],
  ])
    for (const v of part) all.push(v);
  if (T.length > from) spans.push({ ...w, from, to: T.length, start: T[from], end: T[T.length - 1] });
}
const R = D.rolling;
const trades = D.trades.entry_t.map((_, i) => Object.fromEntries(Object.keys(D.trades).map(k => [k, D.trades[k][i]])));
const WHY = {
  signal: 'signal',
  flip: 'changed sides',
  stop: 'stop',
  take: 'take-profit',
  time: 'time limit',
  liquidation: 'liquidation',
  end: 'end of window',
};
const view = { log: false, price: true, trades: true, lo: 0, hi: 1, at: null };
const full = spans.length ? [spans[0].start, spans[spans.length - 1].end] : [0, 1];
if (full[0] === full[1]) full[1] += 1;
[view.lo, view.hi] = full;
// A curve that multiplies is unreadable on a linear scale.
const spread = [EQ, BH].flat().filter(v => v > 0);
view.log = spread.reduce((a, v) => Math.max(a, v), 0) > 5 * spread.reduce((a, v) => Math.min(a, v), Infinity);

const shade = p =>
  spans
    .map((w, k) => {
      const a = Math.max(p.left, p.sx(w.start)),
        b = Math.min(p.right, p.sx(w.end));
      if (b < p.left || a > p.right) return '';
      const label =
        p.first && b - a > 34
          ? `<text x="${r1(a + 5)}" y="${p.top + 11}">${b - a > 74 ? 'window ' : 'w'}${w.index}</text>`
          : '';
      return (
        (k % 2
          ? ''
          : `<rect class="band" x="${r1(a)}" y="${p.top}" width="${r1(b - a)}" height="${p.bottom - p.top}"/>`) +
        (spans.length > 1 && k ? `<path class="edge" d="M${r1(a)},${p.top}V${p.bottom}"/>` : '') +
        label
      );
    })
    .join('');
const visible = w => [
  Math.max(w.from, lowerBound(T, view.lo, w.from, w.to) - 1),
  Math.min(w.to, lowerBound(T, view.hi, w.from, w.to) + 1),
];
const eachVisible = f =>
  spans
    .filter(w => w.end >= view.lo && w.start <= view.hi)
    .map(w => f(...visible(w), w))
    .join('');
function extent(series, floor) {
  let lo = Infinity,
    hi = -Infinity;
  eachVisible((a, b) => {
    for (const Y of series)
      for (let i = a; i < b; i++)
        if (!missing(Y[i]) && !(Y[i] <= floor)) {
          if (Y[i] < lo) lo = Y[i];
          if (Y[i] > hi) hi = Y[i];
        }
  });
  if (lo > hi) return [0, 1];
  if (lo === hi) return [lo - Math.max(1e-9, Math.abs(lo) * 0.01), hi + Math.max(1e-9, Math.abs(hi) * 0.01)];
  return [lo, hi];
}
const padded = ([lo, hi], share = 0.06) => [lo - (hi - lo) * share, hi + (hi - lo) * share];
function scaled(series) {
  const [lo, hi] = extent(series, view.log ? 0 : -Infinity);
  if (!view.log) return padded([lo, hi]);
  return lo > 0 ? [lo / (hi / lo) ** 0.06, hi * (hi / lo) ** 0.06] : [1, 1000];
}
/// The line `d` of points [a, b) with the area between it and zero.
const area = (p, name, d, a, b) =>
  d &&
  `<path class="${name}-area" d="M${r1(p.sx(T[a]))},${r1(p.sy(0))}L${d.slice(1)}L${r1(p.sx(T[b - 1]))},${r1(p.sy(0))}z"/><path class="line ${name}" opacity="${b - a > 4 * (p.right - p.left) ? 0.4 : 1}" d="${d}"/>`;
const marks = {
  up: (x, y, s) => `M${x},${r1(y - s)}l${s},${r1(1.7 * s)}h${-2 * s}z`,
  down: (x, y, s) => `M${x},${r1(y + s)}l${s},${r1(-1.7 * s)}h${-2 * s}z`,
  ring: (x, y, s) => `M${r1(x - s)},${y}a${s},${s} 0 1 0 ${2 * s},0a${s},${s} 0 1 0 ${-2 * s},0`,
  cross: (x, y, s) => `M${r1(x - s)},${r1(y - s)}l${2 * s},${2 * s}m0,${-2 * s}l${-2 * s},${2 * s}`,
};
function drawTrades(p, entryY, exitY, holds) {
  if (!view.trades) return '';
  const seen = trades.filter(q => q.exit_t >= view.lo && q.entry_t <= view.hi);
  // Pixels per trade decide how large its marks may be.
  const room = (p.right - p.left) / Math.max(1, seen.length),
    size = room < 3 ? 1.8 : room < 9 ? 2.6 : 4.5,
    fade = room < 3 ? 0.6 : 1,
    d = { long: '', short: '', win: '', loss: '', 'hold-win': '', 'hold-loss': '' };
  for (const q of seen) {
    const x0 = r1(p.sx(q.entry_t)),
      x1 = r1(p.sx(q.exit_t)),
      y0 = r1(p.sy(q[entryY])),
      y1 = r1(p.sy(q[exitY]));
    d[q.side > 0 ? 'long' : 'short'] += (q.side > 0 ? marks.up : marks.down)(x0, y0, size);
    if (q.pnl > 0) d.win += marks.ring(x1, y1, size * 0.8);
    else d.loss += marks.cross(x1, y1, size * 0.75);
    if (holds && x1 - x0 > 2) d[q.pnl > 0 ? 'hold-win' : 'hold-loss'] += `M${x0},${y0}L${x1},${y1}`;
    p.hits.push([x0, y0, q], [x1, y1, q]);
  }
  return ['hold-win', 'hold-loss', 'win', 'loss', 'long', 'short']
    .map(c => d[c] && `<path class="${c}" opacity="${c.startsWith('hold') ? 0.75 : fade}" d="${d[c]}"/>`)
    .join('');
}
const panels = [
  {
    id: 'equity',
    height: 340,
    short: 260,
    first: true,
    domain: () => scaled([EQ, BH]),
    log: () => view.log,
    draw: p =>
      eachVisible((a, b) => `<path class="line bench" d="${trace(T, BH, a, b, p.sx, p.sy)}"/>`) +
      drawTrades(p, 'entry_equity', 'exit_equity') +
      eachVisible((a, b) => `<path class="line agent" d="${trace(T, EQ, a, b, p.sx, p.sy)}"/>`),
    dots: [
      [EQ, 'fill-agent'],
      [BH, 'fill-bench'],
    ],
  },
  {
    id: 'price',
    height: 190,
    short: 160,
    shown: () => view.price,
    log: () => view.log,
    domain: () => scaled([PX]),
    draw: p =>
      drawTrades(p, 'entry_price', 'exit_price', true) +
      eachVisible((a, b) => `<path class="line price" d="${trace(T, PX, a, b, p.sx, p.sy)}"/>`),
    dots: [[PX, 'fill-agent']],
  },
  {
    id: 'underwater',
    height: 130,
    short: 110,
    log: () => false,
    ticks: 3,
    share: true,
    domain: () => {
      const [lo] = extent([DD]);
      view.depth = Math.min(lo, -0.001);
      return [view.depth * 1.06, 0];
    },
    draw: p => eachVisible((a, b) => area(p, 'under', trace(T, DD, a, b, p.sx, p.sy), a, b)),
    dots: [],
  },
  {
    id: 'exposure',
    height: 110,
    short: 100,
    log: () => false,
    ticks: 3,
    share: true,
    zero: true,
    domain: () => {
      const [lo, hi] = extent([EX]);
      return Math.max(-lo, hi) < 1e-6 ? [0, 1] : padded([Math.min(0, lo), Math.max(0, hi)], 0.08);
    },
    draw: p => eachVisible((a, b) => area(p, 'expo', trace(T, EX, a, b, p.sx, p.sy, true), a, b)),
    dots: [],
  },
  {
    id: 'rolling',
    height: 140,
    short: 120,
    log: () => false,
    ticks: 4,
    zero: true,
    domain: () => {
      let lo = 0,
        hi = 0;
      R.t.forEach((t, i) => {
        if (t >= view.lo && t <= view.hi)
          for (const v of [R.agent[i], R.benchmark[i]])
            if (!missing(v)) {
              lo = Math.min(lo, v);
              hi = Math.max(hi, v);
            }
      });
      return lo === hi ? [-1, 1] : padded([lo, hi]);
    },
    draw: p =>
      `<path class="line bench" d="${trace(R.t, R.benchmark, 0, R.t.length, p.sx, p.sy)}"/><path class="line agent" d="${trace(R.t, R.agent, 0, R.t.length, p.sx, p.sy)}"/>`,
    dots: [],
  },
].filter(p => (p.box = $(`#panel-${p.id}`)));

function drawPanel(p) {
  const shown = !p.shown || p.shown();
  p.box.style.display = shown ? '' : 'none';
  if (!shown) return;
  const plot = $('.plot', p.box),
    width = plot.clientWidth,
    narrow = width < 560,
    height = narrow ? p.short : p.height;
  Object.assign(p, { left: narrow ? 46 : 60, right: width - 10, top: 8, bottom: height - 22, hits: [] });
  const [lo, hi] = p.domain(),
    log = p.log();
  p.sx = t => p.left + ((t - view.lo) / (view.hi - view.lo)) * (p.right - p.left);
  const unit = log ? v => Math.log(Math.max(v, lo) / lo) / Math.log(hi / lo) : v => (v - lo) / (hi - lo);
  p.sy = v => p.bottom - unit(v) * (p.bottom - p.top);
  const {
    ticks,
    step,
    text = p.share ? shareText(step) : tickText(step),
  } = (log ? logTicks : niceTicks)(lo, hi, p.ticks || Math.round(height / 55));
  const grid = ticks
    .map(
      v =>
        `<path class="grid" d="M${p.left},${r1(p.sy(v))}H${p.right}"/><text x="${p.left - 7}" y="${r1(p.sy(v) + 3.8)}" text-anchor="end">${text(v)}</text>`,
    )
    .join('');
  const xs = timeTicks(view.lo, view.hi, Math.max(2, (p.right - p.left) / 85))
    .map(
      ([t, s]) =>
        `<path class="axis" d="M${r1(p.sx(t))},${p.bottom}v4"/><text x="${r1(p.sx(t))}" y="${p.bottom + 16}" text-anchor="middle">${s}</text>`,
    )
    .join('');
  const zero = p.zero && lo <= 0 && hi >= 0 ? `<path class="zero" d="M${p.left},${r1(p.sy(0))}H${p.right}"/>` : '';
  plot.innerHTML =
    `<svg viewBox="0 0 ${width} ${height}" height="${height}" role="img" aria-label="${esc(p.box.dataset.label)}"><clipPath id="clip-${p.id}"><rect x="${p.left}" y="0" width="${p.right - p.left}" height="${p.bottom + 1}"/></clipPath>` +
    `${grid}<g clip-path="url(#clip-${p.id})">${shade(p)}${zero}${p.draw(p)}</g><path class="axis" d="M${p.left},${p.bottom}H${p.right}"/>${xs}<g class="hover"></g></svg>`;
  p.svg = plot.firstChild;
}
const draw = () => {
  panels.forEach(drawPanel);
  view.at = null;
  const reset = $('#reset');
  if (reset) reset.disabled = view.lo === full[0] && view.hi === full[1];
};
function zoom(lo, hi) {
  if (hi - lo >= Math.max(2, D.interval_ms * 4)) {
    view.lo = Math.max(full[0], lo);
    view.hi = Math.min(full[1], hi);
  }
  draw();
}

const nearest = t => {
  const k = lowerBound(T, t);
  return k > 0 && (k === T.length || t - T[k - 1] < T[k] - t) ? k - 1 : k;
};
function cross(k, x) {
  view.at = k;
  for (const p of panels)
    if (p.svg && (!p.shown || p.shown())) {
      const px = k === null ? x : p.sx(T[k]);
      $('.hover', p.svg).innerHTML =
        px == null
          ? ''
          : `<path class="cross" d="M${r1(px)},${p.top}V${p.bottom}"/>` +
            p.dots
              .filter(([Y]) => !missing(Y[k]))
              .map(([Y, c]) => `<circle class="dot ${c}" r="4" cx="${r1(px)}" cy="${r1(p.sy(Y[k]))}"/>`)
              .join('');
    }
}
function barTip(k) {
  const w = spans.find(s => k < s.to),
    roll = R.t.length ? Math.min(R.t.length - 1, lowerBound(R.t, T[k])) : -1;
  return (
    `<b>${when(T[k])}</b>${spans.length > 1 ? ` · window ${w.index}` : ''}` +
    rows([
      [D.policy, `${num(EQ[k])} (${signed(EQ[k] - 100, pct(EQ[k] / 100 - 1, 1))})`],
      ['buy-and-hold', `${num(BH[k])} (${signed(BH[k] - 100, pct(BH[k] / 100 - 1, 1))})`],
      ['price', auto(PX[k])],
      ['drawdown', pct(DD[k], 1)],
      ['exposure', pct(EX[k], 0)],
      ...(roll >= 0 ? [['rolling Sharpe', num(R.agent[roll])]] : []),
    ])
  );
}
const tradeTip = q =>
  `<b>${q.side > 0 ? '▲ Long' : '▼ Short'}</b> · window ${q.window}` +
  rows([
    ['entered', `${when(q.entry_t)}`],
    ['at', auto(q.entry_price)],
    ['left', when(q.exit_t)],
    ['at', auto(q.exit_price)],
    ['P&L', signed(q.pnl, num(q.pnl)), tone(q.pnl)],
    ['of equity', signed(q.trade_return, pct(q.trade_return)), tone(q.trade_return)],
    ['bars held', num(q.bars_held, 0)],
    ['closed by', esc(WHY[q.reason] || q.reason)],
  ]);

function bindLinked() {
  for (const p of panels) {
    const plot = $('.plot', p.box);
    let from = null;
    const at = e => {
      const x = e.clientX - plot.getBoundingClientRect().left;
      return Math.max(p.left, Math.min(p.right, x));
    };
    const time = x => view.lo + ((x - p.left) / (p.right - p.left)) * (view.hi - view.lo);
    plot.addEventListener('pointerdown', e => {
      if (e.button === 0) from = at(e);
    });
    plot.addEventListener('pointermove', e => {
      const x = at(e),
        y = e.clientY - plot.getBoundingClientRect().top,
        k = nearest(time(x));
      cross(k);
      if (from !== null && Math.abs(x - from) > 6)
        $('.hover', p.svg).innerHTML +=
          `<rect class="brush" x="${Math.min(x, from)}" y="${p.top}" width="${Math.abs(x - from)}" height="${p.bottom - p.top}"/>`;
      let best = null,
        reach = 11;
      for (const [hx, hy, q] of p.hits) {
        const d = Math.hypot(hx - x, hy - y);
        if (d < reach) {
          reach = d;
          best = q;
        }
      }
      showTip(e, best ? tradeTip(best) : barTip(k));
    });
    const leave = () => {
      hideTip();
      cross(null);
      from = null;
    };
    plot.addEventListener('pointerleave', leave);
    plot.addEventListener('pointercancel', leave);
    plot.addEventListener('pointerup', e => {
      const x = at(e),
        a = from;
      from = null;
      if (a !== null && Math.abs(x - a) > 6) {
        const [lo, hi] = [time(Math.min(a, x)), time(Math.max(a, x))];
        zoom(lo, hi);
      }
    });
    plot.addEventListener('dblclick', () => zoom(...full));
  }
  const toggle = (id, key) => {
    const b = $(id);
    if (!b) return;
    b.setAttribute('aria-pressed', view[key]);
    b.addEventListener('click', () => {
      view[key] = !view[key];
      b.setAttribute('aria-pressed', view[key]);
      draw();
    });
  };
  toggle('#toggle-log', 'log');
  toggle('#toggle-price', 'price');
  toggle('#toggle-trades', 'trades');
  $('#reset').addEventListener('click', () => {
    $('#pick').value = '';
    zoom(...full);
  });
  $('#pick').innerHTML =
    '<option value="">All windows</option>' +
    spans
      .map(
        (w, k) =>
          `<option value="${k}">Window ${w.index}: ${iso(w.start).slice(0, 10)} to ${iso(w.end).slice(0, 10)}</option>`,
      )
      .join('');
  $('#pick').style.display = spans.length > 1 ? '' : 'none';
  $('#pick').addEventListener('change', e => {
    const w = spans[e.target.value];
    if (w) zoom(w.start, w.end);
    else zoom(...full);
  });
  $('#linked').addEventListener('keydown', e => {
    if (e.target.id !== 'linked') return;
    const move = { ArrowLeft: -1, ArrowRight: 1 }[e.key],
      span = view.hi - view.lo;
    if (e.key === 'Escape') zoom(...full);
    else if (e.key === '+') zoom(view.lo + span / 4, view.hi - span / 4);
    else if (e.key === '-') zoom(view.lo - span / 2, view.hi + span / 2);
    else if (move) {
      e.preventDefault();
      const k = Math.max(
          0,
          Math.min(T.length - 1, (view.at ?? nearest((view.lo + view.hi) / 2)) + move * (e.shiftKey ? 20 : 1)),
        ),
        p = panels[0],
        box = $('.plot', p.box).getBoundingClientRect();
      cross(k);
      showTip({ clientX: box.left + p.sx(T[k]), clientY: box.top + 40 }, barTip(k));
    }
  });
}
