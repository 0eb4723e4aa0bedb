// The histogram of bar returns and the training curves.

function drawHistogram() {
  const box = $('#histogram'),
    h = D.histogram;
  if (!box || !h) return;
  const width = box.clientWidth,
    height = 250,
    left = 46,
    right = width - 10,
    bottom = height - 24,
    n = h.counts.length;
  const sx = v => left + ((v - h.lo) / (h.hi - h.lo)) * (right - left),
    inside = v => !missing(v) && -v > h.lo && -v < h.hi;
  // The larger loss is named on the left of its line and the smaller on the right of its own; where the left has no room
  // both are on the right, one below the other.
  const room = s => 12 + 7.5 * s.length,
    cvarText = `${h.names[1]} ${pct(h.cvar)}`,
    toLeft = inside(h.cvar) && sx(-h.cvar) > room(cvarText),
    stacked = inside(h.cvar) && inside(h.var) && !toLeft,
    top = stacked ? 42 : 26;
  const max = Math.max(1, ...h.counts),
    sy = c => bottom - (c / max) * (bottom - top - 8),
    wide = (h.hi - h.lo) / n;
  const { ticks } = niceTicks(0, max, 4),
    xt = niceTicks(h.lo, h.hi, Math.max(2, width / 90)),
    text = shareText(xt.step);
  const bars = h.counts
    .map((c, i) => {
      const x0 = sx(h.lo + i * wide),
        x1 = sx(h.lo + (i + 1) * wide);
      return c
        ? `<rect class="${h.lo + (i + 0.5) * wide < 0 ? 'bar-neg' : 'bar-pos'}" opacity=".75" x="${r1(x0 + 0.5)}" y="${r1(sy(c))}" width="${r1(Math.max(0.6, x1 - x0 - 1))}" height="${r1(Math.max(0.8, bottom - sy(c)))}"/>`
        : '';
    })
    .join('');
  const mark = (v, label, c, y, end) =>
    inside(v)
      ? `<path class="mark ${c}" d="M${r1(sx(-v))},${y - 9}V${bottom}"/><text class="strong" x="${r1(sx(-v))}" y="${y}" text-anchor="${end ? 'end' : 'start'}" dx="${end ? -5 : 5}">${label}</text>`
      : '';
  box.innerHTML =
    `<svg viewBox="0 0 ${width} ${height}" height="${height}" role="img" aria-label="Histogram of bar returns">${ticks.map(v => `<path class="grid" d="M${left},${r1(sy(v))}H${right}"/><text x="${left - 6}" y="${r1(sy(v) + 4)}" text-anchor="end">${num(v, 0)}</text>`).join('')}${bars}` +
    `<path class="axis" d="M${left},${bottom}H${right}"/>${xt.ticks.map(v => `<text x="${r1(sx(v))}" y="${bottom + 16}" text-anchor="middle">${text(v)}</text>`).join('')}${mark(h.var, `${h.names[0]} ${pct(h.var)}`, '', stacked ? 36 : 20, false)}${mark(h.cvar, cvarText, 'cvar', 20, toLeft)}</svg>`;
  box.onpointermove = e => {
    const i = Math.floor(((e.clientX - box.getBoundingClientRect().left - left) / (right - left)) * n);
    if (i < 0 || i >= n) return hideTip();
    const a = h.lo + i * wide,
      open = i === 0 && h.below ? 'below ' : i === n - 1 && h.above ? 'above ' : '';
    showTip(
      e,
      `<b>${open ? open + text(i ? a : a + wide) : `${pct(a, 3)} to ${pct(a + wide, 3)}`}</b><br>${num(h.counts[i], 0)} bars`,
    );
  };
  box.onpointerleave = hideTip;
}

// A colour-blind safe run from blue over green to amber, dark enough on white and light enough on black.
const hue = (k, n) => {
  const stops = [
      [70, 90, 200],
      [30, 140, 190],
      [25, 155, 120],
      [150, 150, 40],
      [225, 125, 30],
    ],
    x = n < 2 ? 0.2 : (k / (n - 1)) * (stops.length - 1),
    i = Math.min(stops.length - 2, Math.floor(x));
  return `rgb(${stops[i].map((c, j) => Math.round(c + (stops[i + 1][j] - c) * (x - i))).join(' ')})`;
};
function drawTraining() {
  const folds = D.training.folds;
  for (const [at, s] of D.training.series.entries()) {
    const box = $(`#training-${at}`),
      width = box.clientWidth,
      height = 130,
      left = 46,
      right = width - 8,
      top = 6,
      bottom = height - 20;
    let lo = Infinity,
      hi = -Infinity,
      x0 = Infinity,
      x1 = -Infinity;
    for (const f of s.folds)
      f.y.forEach((v, i) => {
        if (!missing(v)) {
          lo = Math.min(lo, v);
          hi = Math.max(hi, v);
          x0 = Math.min(x0, f.x[i]);
          x1 = Math.max(x1, f.x[i]);
        }
      });
    if (lo > hi) {
      box.innerHTML = '<p class="empty">undefined in every epoch</p>';
      continue;
    }
    [lo, hi] = lo === hi ? [lo - (Math.abs(lo) * 0.1 || 1), hi + (Math.abs(hi) * 0.1 || 1)] : padded([lo, hi]);
    if (x0 === x1) {
      x0 -= 0.5;
      x1 += 0.5;
    }
    const sx = v => left + ((v - x0) / (x1 - x0)) * (right - left),
      sy = v => bottom - ((v - lo) / (hi - lo)) * (bottom - top),
      { ticks, step } = niceTicks(lo, hi, 4),
      xs = niceTicks(x0, x1, 4).ticks.filter(Number.isInteger);
    const lines = s.folds
      .map(f => {
        const c = hue(folds.indexOf(f.fold), folds.length);
        return f.x.length === 1
          ? `<circle r="3" cx="${r1(sx(f.x[0]))}" cy="${missing(f.y[0]) ? -9 : r1(sy(f.y[0]))}" fill="${c}"/>`
          : `<path class="line" style="stroke:${c}" d="${trace(f.x, f.y, 0, f.x.length, sx, sy)}"/>`;
      })
      .join('');
    box.innerHTML = `<svg viewBox="0 0 ${width} ${height}" height="${height}" role="img" aria-label="${esc(s.label)} per epoch">${ticks.map(v => `<path class="grid" d="M${left},${r1(sy(v))}H${right}"/><text x="${left - 6}" y="${r1(sy(v) + 4)}" text-anchor="end">${tickText(step)(v)}</text>`).join('')}${lines}<path class="axis" d="M${left},${bottom}H${right}"/>${xs.map(v => `<text x="${r1(sx(v))}" y="${bottom + 15}" text-anchor="middle">${v}</text>`).join('')}<g class="hover"></g></svg>`;
    box.onpointermove = e => {
      const epoch = Math.max(
        x0,
        Math.min(
          x1,
          Math.round(x0 + ((e.clientX - box.getBoundingClientRect().left - left) / (right - left)) * (x1 - x0)),
        ),
      );
      $('.hover', box).innerHTML = `<path class="cross" d="M${r1(sx(epoch))},${top}V${bottom}"/>`;
      showTip(e, `<b>epoch ${epoch}</b>` + rows(s.folds.map(f => [`fold ${f.fold}`, auto(f.y[f.x.indexOf(epoch)])])));
    };
    box.onpointerleave = () => {
      hideTip();
      $('.hover', box).innerHTML = '';
    };
  }
  const legend = $('#folds');
  if (legend)
    legend.innerHTML = folds
      .map((f, k) => `<span class="key"><i style="border-color:${hue(k, folds.length)}"></i>fold ${f}</span>`)
      .join('');
}
