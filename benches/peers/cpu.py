"""gigabar, vectorbt and a numba loop on one machine and one market, taking turns: one backtest of 10 M bars with its
metrics, and 10,000 parameter sets over 200,000 bars with Sharpe ratio, P&L and drawdown of each.

    pip install vectorbt==1.2.0 numba==0.68.1 numpy==2.4.6 pandas==3.1.1
    python benches/peers/cpu.py [--rounds 5] [--scale 0.1]

Prints a line per program and job: least and median seconds, and the ratio of the least to gigabar's. Loading, compiling
and importing are outside; every program's numbers are compared before any time is shown. vectorbt holds whole tables and is
given 100 sets at a time; so that it is over in minutes it sweeps 100 of the 10,000 sets, once, and the time is multiplied by
a hundred.
"""

import argparse
import json
import math
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import vectorbt as vbt

import numba_loop

ROOT = Path(__file__).resolve().parents[2]
PER_YEAR = 365 * 24 * 60
FAST, SLOW = range(2, 102), range(102, 202)
VECTORBT_SETS = 100
CHUNK_SETS = 100


def market(n_bars, folder):
    """A random walk of minute bars as raw columns in `folder`; (open, close)."""
    rng = np.random.default_rng(1)
    close = 100.0 * np.exp(np.cumsum(rng.normal(0.0, 5e-4, n_bars)))
    open_ = np.concatenate([[100.0], close[:-1]]) * np.exp(rng.normal(0.0, 5e-5, n_bars))
    reach = np.exp(np.abs(rng.normal(0.0, 1e-4, (2, n_bars))))
    columns = {"open": open_, "high": np.maximum(open_, close) * reach[0]}
    columns |= {"low": np.minimum(open_, close) / reach[1], "close": close}
    folder.mkdir()
    for name, column in columns.items():
        column.tofile(folder / f"{name}.f64")
    return open_, close


def build():
    """The program that runs gigabar once; its path."""
    command = ["cargo", "bench", "-p", "gigabar-backtest", "--bench", "peer", "--no-run", "--message-format", "json"]
    lines = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    artifacts = [json.loads(line) for line in lines]
    return next(a["executable"] for a in artifacts if a.get("target", {}).get("name") == "peer" and a.get("executable"))


def gigabar(program, job, folder):
    out = json.loads(subprocess.run([program, job, folder], check=True, stdout=subprocess.PIPE, text=True).stdout)
    return out["secs"], out["metrics" if job == "backtest" else "rows"]


def timed(run):
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def vectorbt_portfolio(open_, close, fast, slow):
    """Columns [n_bars, n_set] of averages. Half of the equity at the close before, at the open; closed at the last close."""
    level = np.where(fast > slow, 1.0, np.where(fast < slow, -1.0, np.nan))
    held = pd.DataFrame(level).ffill().to_numpy()
    size = np.full_like(level, np.nan)
    change = held[:-1] != np.vstack([np.full((1, level.shape[1]), np.nan), held[:-2]])
    size[1:] = np.where(change & ~np.isnan(held[:-1]), 0.5 * held[:-1], np.nan)
    price = np.broadcast_to(open_[:, None], level.shape).copy()
    # One order a bar: what trades at the last open stays open.
    closing = np.isnan(size[-1])
    size[-1, closing], price[-1, closing] = 0.0, close[-1]
    before = np.concatenate([close[:1], close[:-1]])
    return vbt.Portfolio.from_orders(
        pd.Series(close),
        size,
        size_type="targetpercent",
        price=price,
        val_price=np.broadcast_to(before[:, None], level.shape),
        fees=numba_loop.FEE,
        init_cash=numba_loop.CASH,
        freq="1min",
    )


def vectorbt_backtest(open_, close):
    table = vbt.MA.run(close, [20, 50]).ma.to_numpy()
    pf = vectorbt_portfolio(open_, close, table[:, :1], table[:, 1:])
    # Its own list of metrics, then those of the returns that the list leaves out.
    returns = pf.returns()
    acc = returns.vbt.returns(freq="1min", year_freq="365 days")
    stats = pf.stats(silence_warnings=True, settings={"freq": "1min", "year_freq": "365 days"})
    more = {"sharpe": acc.sharpe_ratio(), "var": acc.value_at_risk(), "cvar": acc.cond_value_at_risk()}
    more |= {"tail_ratio": acc.tail_ratio(), "volatility": acc.annualized_volatility(), "omega": acc.omega_ratio()}
    benchmark = pd.Series(close).pct_change().fillna(0.0)
    more |= {"alpha": acc.alpha(benchmark), "beta": acc.beta(benchmark), "information": acc.information_ratio(benchmark)}
    final = pf.final_value()
    return {"total_return": float(np.squeeze(final)) / numba_loop.CASH - 1, "stats": stats, **more}


def vectorbt_sweep(open_, close, sets):
    table = vbt.MA.run(close, list(FAST) + list(SLOW)).ma.to_numpy()
    rows = []
    for first in range(0, len(sets), CHUNK_SETS):
        chunk = sets[first : first + CHUNK_SETS]
        pf = vectorbt_portfolio(open_, close, table[:, [f for f, _ in chunk]], table[:, [s for _, s in chunk]])
        acc = pf.returns().vbt.returns(freq="1min", year_freq="365 days")
        rows.append(np.stack([acc.sharpe_ratio(), pf.final_value() - numba_loop.CASH, -pf.max_drawdown()]))
    return np.concatenate(rows, axis=1)


def numba_sweep(open_, close, sets):
    lengths = np.array(list(FAST) + list(SLOW))
    table = numba_loop.smas(close, lengths)
    fast, slow = np.array(sets).T
    out = numba_loop.sweep(open_, close, table, np.ascontiguousarray(fast), np.ascontiguousarray(slow))
    n = close.size - 1
    mean = out[:, 0] / n
    sharpe = mean / np.sqrt((out[:, 1] - n * mean**2) / (n - 1)) * math.sqrt(PER_YEAR)
    return np.stack([sharpe, out[:, 2] - numba_loop.CASH, out[:, 3], out[:, 4], out[:, 5]])


def compare_backtests(ours, loop, vector):
    for key, value in loop.items():
        if value != -1 or ours[key] is not None:
            assert math.isclose(ours[key], value, rel_tol=1e-6, abs_tol=1e-9), (key, ours[key], value)
    assert math.isclose(ours["total_return"], vector["total_return"], rel_tol=1e-6), (ours, vector)


def compare_sweeps(ours, loop, vector):
    own = np.array([[row["sharpe"], row["total_pnl"], row["max_drawdown"], row["n_trades"], row["n_wins"]] for row in ours]).T
    np.testing.assert_allclose(own, loop, rtol=1e-6, atol=1e-7)
    # vectorbt counts the first bar, whose return is 0, and leaves the last position open where it trades at the last open.
    np.testing.assert_allclose(own[:3, :: len(ours) // VECTORBT_SETS], vector, rtol=5e-3, atol=1e-3)


def report(job, times):
    least = {name: min(secs) for name, secs in times.items()}
    for name, secs in times.items():
        ratio = least[name] / least["gigabar"]
        print(f"{job:<32} {name:<8} least {min(secs):8.3f} s, median {statistics.median(secs):8.3f} s, {ratio:6.2f} ×", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the bars")
    parser.add_argument("--job", choices=["backtest", "sweep"], help="one of the two alone")
    args = parser.parse_args()
    program = build()
    sets = [(f, len(FAST) + s) for f in range(len(FAST)) for s in range(len(SLOW))]
    some = sets[:: len(sets) // VECTORBT_SETS]
    with tempfile.TemporaryDirectory() as temp:
        for job, n_bars in (("backtest", 10_000_000), ("sweep", 200_000)):
            if args.job not in (None, job):
                continue
            folder = Path(temp) / job
            open_, close = market(int(n_bars * args.scale), folder)
            runs = {"gigabar": lambda job=job: gigabar(program, job, folder)}
            if job == "backtest":
                runs["numba"] = lambda: timed(lambda: numba_loop.backtest(open_, close, PER_YEAR))
                runs["vectorbt"] = lambda: timed(lambda: vectorbt_backtest(open_, close))
                # Compiles on a few bars.
                numba_loop.backtest(open_[:5_000], close[:5_000], PER_YEAR)
                vectorbt_backtest(open_[:5_000], close[:5_000])
            else:
                runs["numba"] = lambda: timed(lambda: numba_sweep(open_, close, sets))
                runs["vectorbt"] = lambda: timed(lambda: vectorbt_sweep(open_, close, some))
                numba_sweep(open_[:5_000], close[:5_000], sets[:10])
                vectorbt_sweep(open_[:5_000], close[:5_000], some[:10])
            times, results = {name: [] for name in runs}, {}
            for i in range(args.rounds):
                for name, run in runs.items():
                    if i > 0 and (job, name) == ("sweep", "vectorbt"):
                        continue  # once is long enough
                    secs, results[name] = run()
                    times[name].append(secs * (len(sets) / len(some) if (job, name) == ("sweep", "vectorbt") else 1))
            compare = compare_backtests if job == "backtest" else compare_sweeps
            compare(results["gigabar"], results["numba"], results["vectorbt"])
            report(f"{job}, {close.size:,} bars", times)


if __name__ == "__main__":
    main()
