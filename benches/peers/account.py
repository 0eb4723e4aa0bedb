"""The account for arrays: all windows in lockstep, for NumPy, JAX and PyTorch alike.

`xp` is the array library. The rules are those of `common.Reference` with every branch a select: whichever of open,
close, resize and flip an order is, cash moves by −Δ·fill − commission; and an account that any of them empties is
also at or below zero at the bar's adverse extreme, so one comparison finds ruin.
"""

from types import ModuleType
from typing import Any, NamedTuple

from common import COMMISSION, HALF_SPREAD, INITIAL_CASH

Array = Any  # an array of `xp`, f64 [n_windows]


class Account(NamedTuple):
    """State of all windows. A ruined account has no equity."""

    cash: Array
    units: Array
    level: Array
    equity: Array
    peak: Array
    last_return: Array
    entry_price: Array  # never 0, also while flat
    bars: Array  # lived through in this trade, 0 while flat


class Bar(NamedTuple):
    """What a step reads: prices of bar t + 1, close and volatility of bar t."""

    open_next: Array
    high_next: Array
    low_next: Array
    close_next: Array
    close: Array
    sigma: Array


def fresh(ones: Array) -> Account:
    """Flat accounts, shaped as `ones`."""
    cash, zero = INITIAL_CASH * ones, 0.0 * ones
    return Account(cash, zero, zero, cash, cash, zero, ones, zero)


def observe(xp: ModuleType, a: Account, bar: Bar) -> list[Array]:
    """The eight portfolio values at the close of bar t, f64."""
    per_equity = xp.where(a.equity > 0.0, 1.0 / a.equity, 0.0)
    return [
        a.units * bar.close * per_equity,
        a.level,
        xp.sign(a.units) * (bar.close / a.entry_price - 1.0),
        1.0 - a.equity / a.peak,
        xp.where(bar.sigma > 0.0, xp.clip(a.last_return / bar.sigma, -10.0, 10.0), 0.0),
        xp.log(1.0 + a.bars) / 5.0,
        xp.log(xp.clip(a.equity / INITIAL_CASH, 1e-6, None)),
        a.cash * per_equity,
    ]


def step(xp: ModuleType, a: Account, bar: Bar, level: Array) -> Account:
    """Decides for `level` at the close of bar t and lives through bar t + 1."""
    target = level * a.equity / bar.close
    delta = target - a.units
    trade = (level != a.level) & (delta != 0.0)
    fill = bar.open_next * (1.0 + HALF_SPREAD * xp.sign(delta))
    cash = xp.where(trade, a.cash - delta * fill - xp.abs(delta) * fill * COMMISSION, a.cash)
    units = xp.where(trade, target, a.units)

    same_side = a.units * target > 0.0
    size, kept = xp.abs(target), xp.where(same_side, xp.abs(a.units), 0.0)
    average = (kept * a.entry_price + (size - kept) * fill) / size
    entry_price = xp.where(trade & (size > kept), average, a.entry_price)
    bars = xp.where(units != 0.0, xp.where(trade & ~same_side, 0.0, a.bars) + 1.0, 0.0)

    alive = cash + units * xp.where(units > 0.0, bar.low_next, bar.high_next) > 0.0
    cash, units, level = (xp.where(alive, x, 0.0) for x in (cash, units, level))
    equity = cash + units * bar.close_next
    last_return = xp.where(a.equity > 0.0, equity / a.equity - 1.0, 0.0)
    return Account(cash, units, level, equity, xp.maximum(a.peak, equity), last_return, entry_price, bars)


def closed_equity(xp: ModuleType, a: Account, close: Array) -> Array:
    """Equity once everything is closed, with costs, at the last bar's close."""
    fill = close * (1.0 - HALF_SPREAD * xp.sign(a.units))
    return xp.clip(a.cash + a.units * fill - xp.abs(a.units) * fill * COMMISSION, 0.0, None)


def returns(xp: ModuleType, path: Array) -> Array:
    """Simple returns of equity paths [n_bars, n_windows]; 0 once ruined."""
    return xp.where(path[:-1] > 0.0, path[1:] / path[:-1] - 1.0, 0.0)
