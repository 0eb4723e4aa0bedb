// Tables that sort, the list of trades, and the start of everything.

function sortable(table) {
  const heads = $$('thead tr:last-child th', table);
  heads.forEach((th, column) => {
    if (!th.dataset.sort) return;
    th.innerHTML = `<button type="button">${th.innerHTML}</button>`;
    th.firstChild.addEventListener('click', () => {
      const down = th.getAttribute('aria-sort') !== 'descending',
        body = table.tBodies[0],
        key = tr => {
          const v = tr.cells[column].dataset.v;
          return v === undefined || v === '' ? null : +v;
        };
      heads.forEach(h => h.removeAttribute('aria-sort'));
      th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      // Undefined values stay at the bottom whichever way the column is sorted.
      [...body.rows]
        .map(tr => [key(tr), tr])
        .sort(([a], [b]) => (a === null ? (b === null ? 0 : 1) : b === null ? -1 : down ? b - a : a - b))
        .forEach(([, tr]) => body.append(tr));
    });
  });
}
function listTrades(which) {
  const body = $('#trade-rows');
  if (!body) return;
  let list = trades;
  if (which !== 'all') {
    list = [...trades].sort((a, b) => (which === 'best' ? b.pnl - a.pnl : a.pnl - b.pnl)).slice(0, 20);
  }
  const cell = (v, text, c = '') => `<td data-v="${v ?? ''}" class="${c}">${text}</td>`;
  body.innerHTML = list
    .map(
      q =>
        `<tr><th scope="row" data-v="${q.entry_t}">${when(q.entry_t)}</th>${cell(q.window, q.window)}<td class="left" data-v="${q.side}">${q.side > 0 ? '▲ long' : '▼ short'}</td>${cell(q.units, auto(q.units))}${cell(q.entry_price, auto(q.entry_price))}` +
        `<td data-v="${q.exit_t}">${when(q.exit_t)}</td>${cell(q.exit_price, auto(q.exit_price))}${cell(q.pnl, signed(q.pnl, num(q.pnl)), tone(q.pnl))}${cell(q.trade_return, signed(q.trade_return, pct(q.trade_return)), tone(q.trade_return))}${cell(q.bars_held, num(q.bars_held, 0))}<td class="left">${esc(WHY[q.reason] || q.reason)}</td></tr>`,
    )
    .join('');
  $$('#trades thead th').forEach(h => h.removeAttribute('aria-sort'));
  $$('#trade-tabs button').forEach(b => b.setAttribute('aria-pressed', b.dataset.which === which));
}

const drawAll = () => {
  if (T.length) draw();
  drawSweep();
  drawStrategies();
  drawHistogram();
  drawTraining();
};
if (T.length && $('#linked')) bindLinked();
$$('#trade-tabs button').forEach(b => b.addEventListener('click', () => listTrades(b.dataset.which)));
listTrades('all');
$$('table.sortable').forEach(sortable);
drawAll();
let last = innerWidth,
  timer;
addEventListener('resize', () => {
  clearTimeout(timer);
  timer = setTimeout(() => {
    if (innerWidth !== last) {
      last = innerWidth;
      drawAll();
    }
  }, 80);
});
$$('details').forEach(d =>
  d.addEventListener('toggle', () => {
    if (d.open) drawTraining();
  }),
);
addEventListener('beforeprint', () => {
  $$('details').forEach(d => {
    d.open = true;
  });
  drawAll();
});
