// The map of a parameter sweep: a heat map over two parameters, a line over one.

const SHADES = 14;
/// How a value is coloured: by sign about zero where the values have both, else from the lowest to the highest. The outermost
/// hundredth of the values shares the deepest colour, so that one freak does not bleach the rest.
function sweepScale(m) {
  const known = m.values.filter(v => !missing(v)).sort((a, b) => a - b);
  if (!known.length) return null;
  const at = q => known[Math.round(q * (known.length - 1))];
  let [lo, hi] = known.length > 50 ? [at(0.01), at(0.99)] : [at(0), at(1)];
  const both = at(0) < 0 && at(1) > 0 && !m.lower_is_better;
  if (both) [lo, hi] = [Math.min(lo, 0), Math.max(hi, 0)];
  const size = both ? Math.max(-lo, hi) : hi - lo || 1,
    down = !both && (m.lower_is_better || at(1) <= 0),
    clip = t => Math.max(-1, Math.min(1, t));
  const unit = v => (both ? clip(v / size) : Math.max(0, clip(down && !m.lower_is_better ? (hi - v) / size : (v - lo) / size)));
  const fill = t => `rgb(var(${t < 0 || down ? '--neg-rgb' : '--pos-rgb'}) / ${r1(100 * (0.05 + 0.85 * Math.abs(t)))}%)`;
  const ends = both ? [-size, size] : [lo, hi];
  return { shade: v => Math.round(unit(v) * SHADES), fill: shade => fill(shade / SHADES), ends, beyond: [at(0) < ends[0], at(1) > ends[1]], unit };
}
const sweepText = m => v => (m.unit === 'percent' ? pct(v, 1) : m.unit === 'money' ? num(v, 0) : num(v, 2));

function drawSweep() {
  const box = $('#sweep-map'),
    m = D.sweep;
  if (!box || !m) return;
  const scale = sweepScale(m);
  if (!scale) box.innerHTML = '<p class="empty">The metric is undefined for every set.</p>';
  else if (m.y) drawHeatMap(box, m, scale);
  else drawSweepLine(box, m);
}

function drawHeatMap(box, m, scale) {
  const text = sweepText(m),
    nx = m.x.labels.length,
    ny = m.y.labels.length,
    wide = box.clientWidth,
    left = 14 + 7 * Math.max(3, ...m.y.labels.map(s => s.length)),
    top = 20,
    cw = Math.min((wide - left - 12) / nx, 96),
    ch = Math.min(Math.max(ny * cw, 200), 440, ny * 44) / ny,
    right = left + nx * cw,
    bottom = top + ny * ch,
    height = bottom + 40;
  // Small values at the bottom, as on any chart.
  const x = c => left + c * cw,
    y = r => bottom - (r + 1) * ch;
  const paths = new Map(),
    shadeAt = i => (missing(m.values[i]) ? null : scale.shade(m.values[i]));
  let known = '';
  for (let r = 0; r < ny; r++)
    for (let c = 0, end; c < nx; c = end) {
      const shade = shadeAt(r * nx + c);
      end = c + 1;
      while (end < nx && shadeAt(r * nx + end) === shade) end++;
      if (shade === null) continue;
      const cells = `M${r1(x(c))},${r1(y(r))}H${r1(x(end))}V${r1(y(r) + ch)}H${r1(x(c))}z`;
      paths.set(shade, (paths.get(shade) || '') + cells);
      known += cells;
    }
  const every = (n, room) => Math.max(1, Math.ceil(n / Math.max(1, room)));
  const longest = Math.max(...m.x.labels.map(s => s.length)),
    sx = every(nx, (right - left) / (14 + 7 * longest)),
    sy = every(ny, (bottom - top) / 18);
  const ticks =
    m.x.labels.map((s, c) => (c % sx ? '' : `<text x="${r1(x(c + 0.5))}" y="${r1(bottom + 15)}" text-anchor="middle">${esc(s)}</text>`)).join('') +
    m.y.labels.map((s, r) => (r % sy ? '' : `<text x="${left - 6}" y="${r1(y(r) + ch / 2 + 4)}" text-anchor="end">${esc(s)}</text>`)).join('');
  const roomy = cw > 46 && ch > 17 && nx * ny <= 400;
  const values = roomy
    ? m.values.map((v, i) => (missing(v) ? '' : `<text class="value" x="${r1(x((i % nx) + 0.5))}" y="${r1(y(Math.floor(i / nx)) + ch / 2 + 4)}">${text(v)}</text>`)).join('')
    : '';
  const [bx, by] = m.best,
    mark = c => cw > 13 && ch > 13
      ? `<rect class="${c}" x="${r1(x(bx) + 1)}" y="${r1(y(by) + 1)}" width="${r1(cw - 2)}" height="${r1(ch - 2)}"/>`
      : `<circle class="${c}" cx="${r1(x(bx + 0.5))}" cy="${r1(y(by) + ch / 2)}" r="7"/>`;
  const best = `best: ${m.x.name} ${m.x.labels[bx]}, ${m.y.name} ${m.y.labels[by]}`;
  box.innerHTML =
    `<svg viewBox="0 0 ${wide} ${r1(height)}" height="${r1(height)}" role="img" aria-label="${esc(`${m.label} over ${m.y.name} and ${m.x.name}; ${best}`)}"><pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="nothing" d="M0,0V5"/></pattern><rect fill="url(#hatch)" x="${left}" y="${top}" width="${r1(right - left)}" height="${r1(bottom - top)}"/>` +
    `<g shape-rendering="crispEdges"><path style="fill:var(--surface)" d="${known}"/>${[...paths].map(([shade, d]) => `<path style="fill:${scale.fill(shade)}" d="${d}"/>`).join('')}</g>${values}${ticks}` +
    `<text class="strong" x="${r1((left + right) / 2)}" y="${r1(bottom + 33)}" text-anchor="middle">${esc(m.x.name)}</text><text class="strong" x="${left}" y="12" text-anchor="end" dx="-6">${esc(m.y.name)}</text>${mark('halo')}${mark('outline')}<g class="hover"></g></svg>`;
  const [from, to] = scale.ends,
    half = v => scale.fill(Math.round(scale.unit(v) * SHADES)),
    middle = (from + to) / 2;
  $('#sweep-legend').innerHTML =
    `${scale.beyond[0] ? '≤ ' : ''}${text(from)}<i style="background:linear-gradient(to right,${half(from)},${half(middle)},${half(to)})"></i>${scale.beyond[1] ? '≥ ' : ''}${text(to)}${m.values.some(missing) ? ' · hatched: not allowed, never traded, or undefined' : ''}`;
  box.onpointermove = e => {
    const at = box.getBoundingClientRect(),
      c = Math.floor((e.clientX - at.left - left) / cw),
      r = Math.floor((bottom - (e.clientY - at.top)) / ch),
      inside = c >= 0 && c < nx && r >= 0 && r < ny;
    $('.hover', box).innerHTML = inside ? `<rect class="hovered" x="${r1(x(c))}" y="${r1(y(r))}" width="${r1(cw)}" height="${r1(ch)}"/>` : '';
    if (!inside) return hideTip();
    const v = m.values[r * nx + c];
    showTip(e, `${c === bx && r === by ? '<b>the best set</b>' : ''}${rows([[m.x.name, esc(m.x.labels[c])], [m.y.name, esc(m.y.labels[r])], [m.label, missing(v) ? 'none' : text(v)]])}`);
  };
  box.onpointerleave = () => {
    hideTip();
    $('.hover', box).innerHTML = '';
  };
}

function drawSweepLine(box, m) {
  const text = sweepText(m),
    X = m.x.values,
    width = box.clientWidth,
    height = 260,
    left = 60,
    right = width - 12,
    top = 10,
    bottom = height - 40,
    known = m.values.filter(v => !missing(v)),
    [low, high] = [Math.min(...known), Math.max(...known)],
    [lo, hi] = low === high ? [low - 1, high + 1] : padded([low, high]),
    [x0, x1] = [X[0], X[X.length - 1]],
    sx = v => left + ((v - x0) / (x1 - x0)) * (right - left),
    sy = v => bottom - ((v - lo) / (hi - lo)) * (bottom - top),
    { ticks, step } = niceTicks(lo, hi, 5),
    xt = niceTicks(x0, x1, Math.max(2, width / 90)),
    tick = m.unit === 'percent' ? shareText(step) : tickText(step),
    at = k => [r1(sx(X[k])), r1(sy(m.values[k]))],
    [bx, by] = at(m.best[0]);
  const flag = m.x.labels[0] === 'false',
    xs = flag ? m.x.labels.map((s, k) => [X[k], s]) : xt.ticks.map(v => [v, tickText(xt.step)(v)]);
  box.innerHTML =
    `<svg viewBox="0 0 ${width} ${height}" height="${height}" role="img" aria-label="${esc(`${m.label} over ${m.x.name}; best: ${m.x.labels[m.best[0]]}`)}">${ticks.map(v => `<path class="grid" d="M${left},${r1(sy(v))}H${right}"/><text x="${left - 7}" y="${r1(sy(v) + 4)}" text-anchor="end">${tick(v)}</text>`).join('')}` +
    `${lo < 0 && hi > 0 ? `<path class="zero" d="M${left},${r1(sy(0))}H${right}"/>` : ''}<path class="axis" d="M${left},${bottom}H${right}"/>${xs.map(([v, s]) => `<text x="${r1(sx(v))}" y="${bottom + 16}" text-anchor="middle">${esc(s)}</text>`).join('')}` +
    `<text class="strong" x="${r1((left + right) / 2)}" y="${bottom + 34}" text-anchor="middle">${esc(m.x.name)}</text><path class="line agent" d="${trace(X, m.values, 0, X.length, sx, sy)}"/>${X.length > 60 ? '' : X.map((_, k) => (missing(m.values[k]) ? '' : `<circle class="fill-agent" r="2.5" cx="${at(k)[0]}" cy="${at(k)[1]}"/>`)).join('')}` +
    `${missing(m.values[m.best[0]]) ? '' : `<circle class="outline" r="7" cx="${bx}" cy="${by}"/>`}<g class="hover"></g></svg>`;
  box.onpointermove = e => {
    const v = x0 + ((e.clientX - box.getBoundingClientRect().left - left) / (right - left)) * (x1 - x0),
      near = X.reduce((best, value, k) => (Math.abs(value - v) < Math.abs(X[best] - v) ? k : best), 0);
    $('.hover', box).innerHTML = `<path class="cross" d="M${r1(sx(X[near]))},${top}V${bottom}"/>`;
    showTip(e, rows([[m.x.name, esc(m.x.labels[near])], [m.label, missing(m.values[near]) ? 'none' : text(m.values[near])]]));
  };
  box.onpointerleave = () => {
    hideTip();
    $('.hover', box).innerHTML = '';
  };
}
