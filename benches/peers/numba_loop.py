"""The same backtest and sweep as loops that numba compiles: what one writes for speed in Python. Streaming, no chunks.

SMA cross, always in the market once both averages exist; the level wanted at a close fills at the next open: half of the
equity at that close, long or short. Commission of 1 bp of the traded value. What is open at the end is closed at the last
close. Averages are running sums, computed afresh every 1,024 bars.
"""

import math

import numpy as np
from numba import njit, prange

CASH = 100_000.0
SHARE = 0.5
FEE = 1e-4
RESTART = 1024


@njit(cache=True)
def sma(close, n, out):
    total = 0.0
    for t in range(close.size):
        if t + 1 < n:
            out[t] = np.nan
            continue
        if t % RESTART == 0 or t + 1 == n:
            total = 0.0
            for i in range(t + 1 - n, t + 1):
                total += close[i]
        else:
            total += close[t] - close[t - n]
        out[t] = total / n


@njit(cache=True, parallel=True)
def smas(close, lengths):
    table = np.empty((lengths.size, close.size))
    for i in prange(lengths.size):
        sma(close, lengths[i], table[i])
    return table


@njit(cache=True, parallel=True)
def sweep(open_, close, table, fast, slow):
    """[n_set, 6]: Σr, Σr², final equity, largest drawdown, trades, wins."""
    out = np.empty((fast.size, 6))
    n = close.size
    for k in prange(fast.size):
        quick, calm = table[fast[k]], table[slow[k]]
        cash, units, equity, peak, drawdown = CASH, 0.0, CASH, CASH, 0.0
        total, squares, level, trades, wins, flow = 0.0, 0.0, 0, 0, 0, 0.0
        for t in range(n - 1):
            wanted = level
            if quick[t] > calm[t]:
                wanted = 1
            elif quick[t] < calm[t]:
                wanted = -1
            if wanted != level:
                target = wanted * SHARE * equity / close[t]
                price = open_[t + 1]
                delta = target - units
                fee = abs(delta) * price * FEE
                cash -= delta * price + fee
                if units != 0.0:
                    closing = fee * (abs(units) / abs(delta))
                    trades += 1
                    wins += flow + units * price - closing > 0.0
                    fee -= closing
                flow = -target * price - fee
                units = target
                level = wanted
            if t == n - 2 and units != 0.0:
                fee = abs(units) * close[t + 1] * FEE
                cash += units * close[t + 1] - fee
                trades += 1
                wins += flow + units * close[t + 1] - fee > 0.0
                units = 0.0
            now = cash + units * close[t + 1]
            ret = now / equity - 1.0
            total += ret
            squares += ret * ret
            peak = max(peak, now)
            drawdown = max(drawdown, 1.0 - now / peak)
            equity = now
        out[k, 0], out[k, 1], out[k, 2], out[k, 3], out[k, 4], out[k, 5] = total, squares, equity, drawdown, trades, wins
    return out


@njit(cache=True)
def walk(open_, close, quick, calm, equity, returns, pnl):
    """The path of one account; its trades' P&L into `pnl`. Counts and drawdowns on the way."""
    n = close.size
    cash, units, peak, level, flow = CASH, 0.0, CASH, 0, 0.0
    trades, traded, inside, held, under, longest = 0, 0.0, 0, 0, 0, 0
    deepest, squares, trough, trough_peak = 0.0, 0.0, 0, 0.0
    costs = 0.0
    equity[0] = CASH
    for t in range(n - 1):
        wanted = level
        if quick[t] > calm[t]:
            wanted = 1
        elif quick[t] < calm[t]:
            wanted = -1
        if wanted != level:
            target = wanted * SHARE * equity[t] / close[t]
            price = open_[t + 1]
            delta = target - units
            fee = abs(delta) * price * FEE
            costs += fee
            cash -= delta * price + fee
            traded += abs(delta) * price
            if units != 0.0:
                closing = fee * (abs(units) / abs(delta))
                pnl[trades] = flow + units * price - closing
                trades += 1
                fee -= closing
            flow = -target * price - fee
            units = target
            level = wanted
        inside += units != 0.0
        held += units != 0.0
        if t == n - 2 and units != 0.0:
            fee = abs(units) * close[t + 1] * FEE
            costs += fee
            cash += units * close[t + 1] - fee
            traded += abs(units) * close[t + 1]
            pnl[trades] = flow + units * close[t + 1] - fee
            trades += 1
            units = 0.0
        now = cash + units * close[t + 1]
        returns[t] = now / equity[t] - 1.0
        equity[t + 1] = now
        if now >= peak:
            peak = now
            under = 0
        else:
            under += 1
            longest = max(longest, under)
            depth = 1.0 - now / peak
            squares += depth * depth
            if depth > deepest:
                deepest, trough, trough_peak = depth, t + 1, peak
    recovery = -1
    for t in range(trough, n):
        if equity[t] >= trough_peak:
            recovery = t - trough
            break
    return trades, traded, costs, inside, longest, deepest, squares, recovery


@njit(cache=True, parallel=True)
def powers(r, b, mean_r, mean_b):
    """Σ of deviations' powers and products, gains and losses about 0, extremes."""
    m2, m3, m4, bb, rb, aa, gains, losses, down = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for t in prange(r.size):
        d, e = r[t] - mean_r, b[t] - mean_b
        m2 += d * d
        m3 += d * d * d
        m4 += d * d * d * d
        bb += e * e
        rb += d * e
        aa += (d - e) * (d - e)
        gains += max(r[t], 0.0)
        losses += max(-r[t], 0.0)
        down += min(r[t], 0.0) ** 2
    return m2, m3, m4, bb, rb, aa, gains, losses, down


@njit(cache=True, parallel=True)
def sums(r, b, close):
    total, other = 0.0, 0.0
    for t in prange(r.size):
        b[t] = close[t + 1] / close[t] - 1.0
        total += r[t]
        other += b[t]
    return total, other


@njit(cache=True, parallel=True)
def tail(r, cut):
    total, count = 0.0, 0
    for t in prange(r.size):
        if r[t] <= cut:
            total += r[t]
            count += 1
    return total / count


def backtest(open_, close, per_year):
    """The metrics of gigabar's suite that are not another one in other words."""
    n = close.size - 1
    table = smas(close, np.array([20, 50]))
    equity, returns, pnl, other = np.empty(n + 1), np.empty(n), np.empty(n), np.empty(n)
    trades, traded, costs, inside, longest, deepest, squares, recovery = walk(
        open_, close, table[0], table[1], equity, returns, pnl
    )
    total, total_b = sums(returns, other, close)
    mean, mean_b = total / n, total_b / n
    m2, m3, m4, bb, rb, aa, gains, losses, down = powers(returns, other, mean, mean_b)
    std = math.sqrt(m2 / (n - 1))
    years = n / per_year
    growth = equity[-1] / equity[0]
    cagr = growth ** (1 / years) - 1
    # Three order statistics at once; the neighbours for the interpolation come with them.
    places = [(n - 1) * q for q in (0.05, 0.95)]
    ranks = sorted({math.floor(p) for p in places} | {math.floor(p) + 1 for p in places})
    ordered = np.partition(returns, ranks)
    low, high = (ordered[math.floor(p)] + (p % 1) * (ordered[math.floor(p) + 1] - ordered[math.floor(p)]) for p in places)
    g1, g2 = m3 / n / (m2 / n) ** 1.5, m4 / n / (m2 / n) ** 2 - 3
    pnl = pnl[:trades]
    won, lost = pnl[pnl > 0], pnl[pnl < 0]
    bar_sharpe = mean / std
    z = bar_sharpe * math.sqrt(n - 1) / math.sqrt(1 - g1 * bar_sharpe + (g2 + 2) / 4 * bar_sharpe**2)
    beta = rb / bb
    return {
        "total_return": growth - 1,
        "cagr": cagr,
        "sharpe": bar_sharpe * math.sqrt(per_year),
        "sortino": mean / math.sqrt(down / n) * math.sqrt(per_year),
        "calmar": cagr / deepest,
        "omega": gains / losses,
        "psr": 0.5 * (1 + math.erf(z / math.sqrt(2))),
        "volatility": std * math.sqrt(per_year),
        "max_drawdown": deepest,
        "max_drawdown_bars": longest,
        "recovery_bars": recovery,
        "ulcer_index": math.sqrt(squares / n),
        "var": -low,
        "cvar": -tail(returns, low),
        "skew": g1 * math.sqrt(n * (n - 1)) / (n - 2),
        "kurtosis": (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * g2 + 6),
        "tail_ratio": abs(high / low),
        "best_bar": returns.max(),
        "worst_bar": returns.min(),
        "n_trades": trades,
        "win_rate": won.size / trades,
        "profit_factor": won.sum() / -lost.sum(),
        "payoff_ratio": won.mean() / -lost.mean(),
        "expectancy": pnl.mean(),
        "sqn": math.sqrt(trades) * pnl.mean() / pnl.std(ddof=1),
        "exposure": inside / n,
        "turnover": traded / equity.mean() / years,
        "costs": costs,
        "benchmark_return": close[-1] / close[0] - 1,
        "alpha": (mean - beta * mean_b) * per_year,
        "beta": beta,
        "information_ratio": (mean - mean_b) / math.sqrt(aa / (n - 1)) * math.sqrt(per_year),
    }
