"""Makes rules.csv: the equity of rule strategies on GOOG daily, computed from the textbook with numpy alone.

    python -m venv venv && venv/bin/pip install numpy==2.4.6
    venv/bin/python make_rule_golden.py $GIGABAR_DATA/backtesting.py/GOOG.csv

The prices are those of backtesting.py's test data (see MANIFEST.md of the data folder). Nothing here is shared with the
engine: whole columns of indicators first, then positions, then a loop over fills. Rules of the account: a decision at a
close is filled at the next open, for a target of level * equity / close units; 2 bps of commission on the value filled, half a
spread of 1 bps; what is open at the last close is closed there. An order exists only where the level changes.
"""

import csv
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).parent
CASH, COMMISSION, HALF_SPREAD, YEAR = 10_000.0, 2e-4, 1e-4, 252.0


def sma(x, n):
    out = np.full(len(x), np.nan)
    out[n - 1 :] = np.convolve(x, np.ones(n) / n, "valid")
    return out


def ema(x, n, first):
    """Begins at bar `first` with the mean of the n values that end there."""
    weight, out = 2.0 / (n + 1.0), np.full(len(x), np.nan)
    out[first] = np.mean(x[first + 1 - n : first + 1])
    for t in range(first + 1, len(x)):
        out[t] = weight * x[t] + (1.0 - weight) * out[t - 1]
    return out


def rate_of_change(x, n):
    out = np.full(len(x), np.nan)
    out[n:] = x[n:] / x[:-n] - 1.0
    return out


def sma_cross(close, fast, slow):
    return np.sign(np.nan_to_num(sma(close, fast) - sma(close, slow)))


def macd(close, fast, slow, signal):
    line = ema(close, fast, slow - 1) - ema(close, slow, slow - 1)
    return np.sign(np.nan_to_num(line - ema(line, signal, slow + signal - 2)))


def momentum(close, lookback, threshold):
    past = np.nan_to_num(rate_of_change(close, lookback))
    return np.where(np.abs(past) > threshold, np.sign(past), 0.0)


def vol_target(close, period, target, cap, step, trend):
    squares = rate_of_change(close, 1)[1:] ** 2
    variance = np.concatenate(([np.nan], ema(squares, period, period - 1)))
    size = np.floor(np.minimum(cap, target / np.sqrt(variance * YEAR)) / step + 1e-9) * step
    return np.nan_to_num(size) * np.sign(np.nan_to_num(rate_of_change(close, trend)))


def equity(open_, close, levels):
    cash, units, held, out = CASH, 0.0, 0.0, [CASH]
    for t in range(len(close) - 1):
        if levels[t] != held:
            wanted = levels[t] * out[-1] / close[t]
            cash = trade(cash, wanted - units, open_[t + 1])
            units, held = wanted, levels[t]
        if t + 2 == len(close):
            cash = trade(cash, -units, close[-1])
            units = 0.0
        out.append(cash + units * close[t + 1])
    return np.array(out)


def trade(cash, units, price):
    fill = price * (1.0 + np.sign(units) * HALF_SPREAD)
    return cash - units * fill - abs(units) * fill * COMMISSION


with open(sys.argv[1]) as file:
    rows = list(csv.DictReader(file))
open_, close = (np.array([float(row[name]) for row in rows]) for name in ("Open", "Close"))
strategies = {
    "sma-cross:fast=10,slow=30": sma_cross(close, 10, 30),
    "macd:fast=12,slow=26,signal=9": macd(close, 12, 26, 9),
    "momentum:lookback=60,threshold=0.05": momentum(close, 60, 0.05),
    "vol-target:period=30,target=0.2,cap=1.5,step=0.1,trend=100": vol_target(close, 30, 0.2, 1.5, 0.1, 100),
}
columns = {name: equity(open_, close, levels) for name, levels in strategies.items()}
for name, levels in strategies.items():
    print(f"{name}: {np.count_nonzero(np.diff(levels))} changes of level, final equity {columns[name][-1]:.2f}")
with open(HERE / "rules.csv", "w", newline="") as file:
    out = csv.writer(file, lineterminator="\n")
    out.writerow(columns)
    out.writerows([f"{value:.4f}" for value in row] for row in zip(*columns.values()))
