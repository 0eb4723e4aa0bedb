"""What every peer shares: the synthetic market, the network's weights, the windows, a plain reference, the stopwatch.

`Reference` states one account in scalar Python, branch by branch as `crates/backtest/src/cpu/account.rs` has it
(costs only: no barriers, lots, volume or Kelly). Peers prove their final equity against it before they are timed;
`check.py` proves it against gigabar itself.
"""

import json
import math
import statistics
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

N_FEATURE = 48
N_PORTFOLIO = 8
HIDDEN = 256
LEVELS = (-1.0, -0.5, 0.0, 0.5, 1.0)
INITIAL_CASH = 100_000.0
HALF_SPREAD = 1e-4  # 1 bp
COMMISSION = 1e-4  # 1 bp
PERIODS_PER_YEAR = 365.0 * 24.0  # hourly bars around the clock
COLUMNS = ("open", "high", "low", "close", "sigma")
CASES = ((8, 100_000), (132, 100_000), (4_096, 2_000))  # windows, bars
SERIES_BARS = 200_000  # the series that windows are cut from, as in gpu_rollout.rs
SIGMA_DECAY = 2.0 ** (-1.0 / 32.0)


@dataclass
class Market:
    """A series: prices and volatility f64 [n_bars], features f32 [n_bars, N_FEATURE]."""

    open: Array
    high: Array
    low: Array
    close: Array
    sigma: Array
    features: NDArray[np.float32]


def random_walk(n_bars: int, seed: int = 1, features: bool = True) -> Market:
    """A geometric random walk with half a percent of volatility per bar, small gaps, and features of pure noise."""
    rng = np.random.default_rng(seed)
    gap, body = rng.normal(0.0, [[7e-4], [5e-3]], (2, n_bars))
    close = 100.0 * np.exp(np.cumsum(gap + body))
    open_ = close * np.exp(-body)
    reach = np.exp(np.abs(rng.normal(0.0, 2e-3, (2, n_bars))))
    high, low = np.maximum(open_, close) * reach[0], np.minimum(open_, close) / reach[1]
    shape = (n_bars, N_FEATURE if features else 0)
    return Market(open_, high, low, close, ewma_sigma(close), rng.uniform(-2.0, 2.0, shape).astype(np.float32))


def ewma_sigma(close: Array) -> Array:
    """Exponentially weighted deviation of log returns, as `gigabar_market::sigma`."""
    out = np.zeros_like(close)
    variance = 0.0
    for t, r in enumerate(np.diff(np.log(close)), start=1):
        variance = r * r if t == 1 else SIGMA_DECAY * variance + (1.0 - SIGMA_DECAY) * r * r
        out[t] = math.sqrt(variance)
    return out


def window_rows(n_series: int, n_windows: int, n_bars: int) -> NDArray[np.int64]:
    """Rows of the series, [n_bars, n_windows]: windows spread evenly over it, time first."""
    starts = (n_series - n_bars) * np.arange(n_windows) // max(n_windows - 1, 1)
    return np.arange(n_bars)[:, None] + starts[None, :]


@dataclass
class Network:
    """Weights [n_in, n_out] and biases [n_out], f32; layer 1 split into features and portfolio."""

    w1_features: NDArray[np.float32]
    w1_portfolio: NDArray[np.float32]
    b1: NDArray[np.float32]
    w2: NDArray[np.float32]
    b2: NDArray[np.float32]
    w3: NDArray[np.float32]
    b3: NDArray[np.float32]


def random_network(seed: int = 2) -> Network:
    """Uniform weights of unit gain, as in gpu_rollout.rs."""
    rng = np.random.default_rng(seed)

    def layer(n_in: int, n_out: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        draw = rng.uniform(-1.0, 1.0, (n_in + 1, n_out)) * math.sqrt(3.0 / n_in)
        return draw[:-1].astype(np.float32), draw[-1].astype(np.float32)

    (w1, b1), (w2, b2) = layer(N_FEATURE + N_PORTFOLIO, HIDDEN), layer(HIDDEN, HIDDEN)
    w3, b3 = layer(HIDDEN, len(LEVELS))
    return Network(w1[:N_FEATURE], w1[N_FEATURE:], b1, w2, b2, w3, b3)


@dataclass
class Reference:
    """One account, bar by bar."""

    cash: float = INITIAL_CASH
    units: float = 0.0
    level: float = 0.0
    equity: float = INITIAL_CASH
    peak: float = INITIAL_CASH
    last_return: float = 0.0
    entry_price: float = 0.0
    bars: int = 0
    ruined: bool = False
    path: list[float] = field(default_factory=lambda: [INITIAL_CASH])

    def observe(self, market: Market, t: int) -> NDArray[np.float32]:
        """The eight portfolio values at the close of bar t."""
        close, sigma = market.close[t], market.sigma[t]
        unrealised, bars = 0.0, 0
        if self.units != 0.0:
            unrealised, bars = math.copysign(1.0, self.units) * (close / self.entry_price - 1.0), self.bars
        values = [
            self.units * close / self.equity if self.equity > 0.0 else 0.0,
            self.level,
            unrealised,
            1.0 - self.equity / self.peak,
            min(max(self.last_return / sigma, -10.0), 10.0) if sigma > 0.0 else 0.0,
            math.log(1.0 + bars) / 5.0,
            math.log(max(self.equity / INITIAL_CASH, 1e-6)),
            self.cash / self.equity if self.equity > 0.0 else 0.0,
        ]
        return np.array(values, dtype=np.float32)

    def step(self, market: Market, t: int, level: float, last: bool) -> None:
        """Decides at the close of bar t and lives through bar t + 1."""
        before = self.equity
        if not self.ruined:
            self._order(market, t, level)
        if not self.ruined and self.units != 0.0:
            self.bars += 1
            adverse = market.low[t + 1] if self.units > 0.0 else market.high[t + 1]
            if self.cash + self.units * adverse <= 0.0:
                self._ruin()
            elif last:
                self._close(market.close[t + 1])
        self.equity = self.cash + self.units * market.close[t + 1]
        if self.equity <= 0.0:
            self._ruin()
        self.peak = max(self.peak, self.equity)
        self.last_return = self.equity / before - 1.0 if before > 0.0 else 0.0
        self.path.append(self.equity)

    def _order(self, market: Market, t: int, level: float) -> None:
        target = level * self.equity / market.close[t]
        delta = target - self.units
        changed, self.level = level != self.level, level
        if not changed or delta == 0.0:
            return
        price, held = market.open[t + 1], self.units
        if held != 0.0 and target == 0.0:
            self._close(price)
            return
        fill = price * (1.0 + math.copysign(HALF_SPREAD, delta))
        commission = abs(delta) * fill * COMMISSION
        if held * target > 0.0:
            if abs(target) > abs(held):
                self.entry_price = (abs(held) * self.entry_price + abs(delta) * fill) / abs(target)
            self.cash += -(delta * fill) - commission
        else:
            closing = commission * abs(held) / abs(delta)
            self.cash += held * fill - closing
            if self.cash <= 0.0:
                self._ruin()
                return
            self.cash += -(target * fill) - (commission - closing)
            self.entry_price, self.bars = fill, 0
        self.units = target

    def _close(self, price: float) -> None:
        fill = price * (1.0 - math.copysign(HALF_SPREAD, self.units))
        self.cash += self.units * fill - abs(self.units) * fill * COMMISSION
        self.units, self.bars = 0.0, 0
        if self.cash <= 0.0:
            self._ruin()

    def _ruin(self) -> None:
        self.cash = self.units = self.level = self.equity = 0.0
        self.ruined = True


def slice_market(market: Market, start: int, n_bars: int) -> Market:
    """A window of the series, keeping the series' volatility."""
    rows = slice(start, start + n_bars)
    return Market(*(getattr(market, name)[rows] for name in COLUMNS), market.features[rows])


def reference_replay(market: Market, levels: Array) -> Reference:
    """Lives through all bars given one level per decision."""
    account = Reference()
    n_decisions = len(market.close) - 1
    for t in range(n_decisions):
        account.step(market, t, float(levels[t]), t + 1 == n_decisions)
    return account


def reference_greedy(market: Market, net: Network) -> tuple[Reference, float]:
    """Lives through all bars by the network's best level; also the smallest gap between the two best values."""
    account, gap = Reference(), math.inf
    n_decisions = len(market.close) - 1
    for t in range(n_decisions):
        pre = market.features[t] @ net.w1_features + net.b1 + account.observe(market, t) @ net.w1_portfolio
        hidden = np.maximum(np.maximum(pre, 0.0) @ net.w2 + net.b2, 0.0)
        q = hidden @ net.w3 + net.b3
        second, best = np.sort(q)[-2:]
        gap = min(gap, float(best - second))
        account.step(market, t, LEVELS[int(np.argmax(q))], t + 1 == n_decisions)
    return account, gap


def summary(path: Array) -> tuple[float, float, float]:
    """Annualised Sharpe ratio, total P&L and maximal drawdown of an equity path E_0..E_n."""
    returns = np.divide(path[1:], path[:-1], out=np.ones(len(path) - 1), where=path[:-1] > 0.0) - 1.0
    sharpe = float(returns.mean() / returns.std(ddof=1)) * math.sqrt(PERIODS_PER_YEAR)
    return sharpe, float(path[-1] - path[0]), float((1.0 - path / np.maximum.accumulate(path)).max())


Summaries = Array  # [4, n_windows]: Sharpe ratio, total P&L, maximal drawdown, final equity


def check_small(name: str, evaluate: Callable[[int, int], Summaries], market: Market, net: Network) -> None:
    """Asserts that `evaluate(n_windows, n_bars)` agrees with the reference on every window of a small case."""
    n_windows, n_bars = 5, 203
    rows = window_rows(len(market.close), n_windows, n_bars)
    got = np.asarray(evaluate(n_windows, n_bars))
    for w in range(n_windows):
        account, gap = reference_greedy(slice_market(market, int(rows[0, w]), n_bars), net)
        assert gap > 1e-5, f"window {w}: a decision is a tie within {gap}; take another seed"
        want = (*summary(np.array(account.path)), account.equity)
        np.testing.assert_allclose(got[:, w], want, rtol=1e-9, atol=1e-12, err_msg=f"{name}, window {w}")


def rollout_arguments(description: str, scale: float) -> ArgumentParser:
    """The flags every rollout peer has."""
    parser = ArgumentParser(description=description)
    parser.add_argument("--windows", type=int, help="one case of this many windows instead of all")
    parser.add_argument("--bars", type=int, default=100_000, help="bars per window, with --windows")
    parser.add_argument("--scale", type=float, default=scale, help=f"share of the bars to run (default {scale})")
    parser.add_argument("--runs", type=int, default=3, help="warm runs to take the median of (default 3)")
    return parser


def cases(args: Namespace) -> list[tuple[int, int]]:
    """(windows, bars) of every case to run."""
    chosen = [(args.windows, args.bars)] if args.windows else CASES
    return [(w, max(int(t * args.scale), 64)) for w, t in chosen]


def seconds(call: Callable[[], object]) -> float:
    """Wall clock of a call, which must end with a read from the device."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure(peer: str, n_windows: int, n_bars: int, call: Callable[[], object], runs: int) -> None:
    """Times the first call and the warm ones and prints the line."""
    first = seconds(call)
    warm = statistics.median(seconds(call) for _ in range(runs))
    n_steps = n_bars - 1
    line = {
        "peer": peer,
        "windows": n_windows,
        "bars": n_bars,
        "first_s": round(first, 4),
        "warm_s": round(warm, 6),
        "us_per_step": round(warm / n_steps * 1e6, 3),
        "steps_per_s": round(n_windows * n_steps / warm),
    }
    print(json.dumps(line), flush=True)
