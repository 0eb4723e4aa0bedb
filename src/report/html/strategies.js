// Growth of 100 under every strategy of a comparison, and of holding.

function drawStrategies() {
  const box = $('#strategies'),
    lines = D.strategies;
  if (!box || !lines) return;
  const width = box.clientWidth,
    height = 300,
    left = 56,
    right = width - 12,
    top = 10,
    bottom = height - 24,
    own = lines.flatMap(l => l.y).filter(v => v > 0),
    [low, high] = [own, BH].flat().reduce(([a, b], v) => (v > 0 ? [Math.min(a, v), Math.max(b, v)] : [a, b]), [Infinity, 0]),
    log = high > 5 * low,
    flat = low === high ? 1 : 0,
    [lo, hi] = log ? [low / 1.05, high * 1.05] : padded([low - flat, high + flat]),
    x0 = Math.min(...lines.map(l => l.x[0])),
    x1 = Math.max(...lines.map(l => l.x[l.x.length - 1])),
    sx = t => left + ((t - x0) / (x1 - x0 || 1)) * (right - left),
    height01 = log ? v => Math.log(Math.max(v, lo) / lo) / Math.log(hi / lo) : v => (v - lo) / (hi - lo),
    sy = v => bottom - height01(v) * (bottom - top),
    scale = log ? logTicks(lo, hi, 6) : niceTicks(lo, hi, 6),
    text = scale.text || tickText(scale.step),
    colour = k => hue(k, lines.length);
  const drawn = lines
    .map((l, k) => `<path class="line" style="stroke:${colour(k)};stroke-width:${k ? 1.3 : 2.4}" d="${trace(l.x, l.y, 0, l.x.length, sx, sy)}"/>`)
    .reverse()
    .join('');
  const holding = T.length ? `<path class="line bench" d="${trace(T, BH, 0, T.length, sx, sy)}"/>` : '';
  box.innerHTML =
    `<svg viewBox="0 0 ${width} ${height}" height="${height}" role="img" aria-label="${esc(`Growth of 100 under ${lines.map(l => l.name).join(', ')}`)}">` +
    scale.ticks.map(v => `<path class="grid" d="M${left},${r1(sy(v))}H${right}"/><text x="${left - 7}" y="${r1(sy(v) + 4)}" text-anchor="end">${text(v)}</text>`).join('') +
    `<path class="axis" d="M${left},${bottom}H${right}"/>` +
    timeTicks(x0, x1, Math.max(2, (right - left) / 85)).map(([t, s]) => `<text x="${r1(sx(t))}" y="${bottom + 16}" text-anchor="middle">${s}</text>`).join('') +
    `${holding}${drawn}<g class="hover"></g></svg>`;
  $('#strategies-legend').innerHTML =
    lines.map((l, k) => `<span class="key"><i style="border-color:${colour(k)}"></i>${esc(l.name)}</span>`).join('') +
    (holding && '<span class="key"><i class="dash" style="border-color:var(--bench)"></i>buy-and-hold</span>');
  // The point at or before a time: what the account was worth then.
  const at = (X, Y, t) => Y[Math.max(0, lowerBound(X, t + 1) - 1)];
  box.onpointermove = e => {
    const t = x0 + ((e.clientX - box.getBoundingClientRect().left - left) / (right - left)) * (x1 - x0),
      inside = Math.max(x0, Math.min(x1, t));
    $('.hover', box).innerHTML = `<path class="cross" d="M${r1(sx(inside))},${top}V${bottom}"/>`;
    const values = lines.map(l => [l.name, at(l.x, l.y, inside)]);
    if (holding) values.push(['buy-and-hold', at(T, BH, inside)]);
    values.sort((a, b) => b[1] - a[1]);
    showTip(e, `<b>${when(inside)}</b>${rows(values.map(([name, v]) => [name, num(v)]))}`);
  };
  box.onpointerleave = () => {
    hideTip();
    $('.hover', box).innerHTML = '';
  };
}
