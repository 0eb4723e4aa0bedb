"""Makes metric.json, the golden values of the metric suite.

    pip install numpy==2.4.6 scipy==1.17.1 pandas==3.1.1 empyrical-reloaded==0.7.1 quantstats==0.0.86
    python make_metric_golden.py

Witnesses: empyrical (return, risk and tail metrics), SciPy (skew, kurtosis, regression, normal distribution), quantstats
(information ratio, payoff, profit factor), and NumPy written out plainly where no package holds our convention
(CVaR with ties, drawdown lengths, ulcer index, SQN, PBO). What gigabar calls undefined is null: the witness answers
NaN, an infinity, or a ratio over rounding noise.
"""

import itertools
import json
import math
import pathlib
import warnings

import empyrical as ep
import numpy as np
import pandas as pd
import quantstats as qs
from scipy import stats

warnings.filterwarnings("ignore")
N, RF, MAR, LEVEL = 252.0, 0.02, 0.01, 0.05
LENGTHS = [1, 2, 3, 19, 20, 1000]
KINDS = {
    "normal": lambda g, n: g.normal(0.0005, 0.01, n),
    "fat_tailed": lambda g, n: np.clip(g.standard_t(3, n) * 0.01, -0.5, 0.5),
    "all_positive": lambda g, n: np.abs(g.normal(0, 0.01, n)) + 1e-4,
    "all_negative": lambda g, n: -np.abs(g.normal(0, 0.01, n)) - 1e-4,
    "constant": lambda g, n: np.full(n, 0.001),
    "with_zeros": lambda g, n: g.normal(0.0005, 0.01, n) * (g.random(n) < 0.4),
}


def number(value):
    value = float(value)
    return value if math.isfinite(value) else None


def drawdown(r):
    """Drawdown lengths and ulcer index, bar by bar."""
    equity = np.concatenate([[1.0], np.cumprod(1 + r)])
    depth = 1 - equity / np.maximum.accumulate(equity)
    longest = run = 0
    for d in depth[1:]:
        run = run + 1 if d > 0 else 0
        longest = max(longest, run)
    recovery = None
    if depth.max() > 0:
        trough = int(depth.argmax())
        peak = equity[: trough + 1].max()
        later = np.nonzero(equity[trough:] >= peak)[0]
        recovery = int(later[0]) if len(later) else None
    return {
        "max_drawdown_bars": longest,
        "recovery_bars": recovery,
        "recovered": int(depth[-1] == 0),
        "ulcer_index": number(np.sqrt(np.mean(depth[1:] ** 2))),
    }


def probability(r, target):
    sharpe = (r.mean() - RF / N) / r.std(ddof=1)
    g3, g4 = stats.skew(r), stats.kurtosis(r, fisher=False)
    radicand = 1 - g3 * sharpe + (g4 - 1) / 4 * sharpe**2
    return number(stats.norm.cdf((sharpe - target) * math.sqrt(len(r) - 1) / math.sqrt(radicand)))


def deflated(r, k, variance):
    gamma = 0.5772156649015329
    best = (1 - gamma) * stats.norm.ppf(1 - 1 / k) + gamma * stats.norm.ppf(1 - 1 / (k * math.e))
    return probability(r, math.sqrt(variance) * best)


def trades(r):
    pnl = pd.Series(1000 * r)
    wins, losses = pnl[pnl > 0], pnl[pnl < 0]
    out = {
        "n_trades": len(r),
        "win_rate": len(wins) / len(r),
        "expectancy": number(pnl.mean()),
        "avg_trade_return": number(r.mean()),
        "profit_factor": None,
        "payoff_ratio": None,
        "sqn": None,
    }
    if len(losses):
        out["profit_factor"] = number(qs.stats.profit_factor(pnl)) if len(wins) else 0.0
    if len(wins) and len(losses):
        out["payoff_ratio"] = number(wins.mean() / abs(losses.mean()))
    if len(r) > 1 and pnl.max() != pnl.min():
        out["sqn"] = number(math.sqrt(len(r)) * pnl.mean() / pnl.std())
    return out


def expect(kind, r, b):
    n = len(r)
    varies = n > 1 and r.max() != r.min()
    out = {
        "total_return": number(ep.cum_returns_final(r)),
        "cagr": number(ep.annual_return(r, annualization=N)),
        "volatility": number(ep.annual_volatility(r, annualization=N)) if n > 1 else None,
        "sharpe": number(ep.sharpe_ratio(r, risk_free=RF / N, annualization=N)) if varies else None,
        "sortino": number(ep.sortino_ratio(r, required_return=MAR / N, annualization=N)) if n > 1 else one_sortino(r),
        "max_drawdown": number(-ep.max_drawdown(r)),
        "omega": omega(r),
        "tail_ratio": number(ep.tail_ratio(r)) if n > 1 and np.percentile(r, 5) != 0 else None,
        "skew": number(stats.skew(r, bias=False)) if n > 2 and varies else None,
        "kurtosis": number(stats.kurtosis(r, bias=False)) if n > 3 and varies else None,
        "var": None,
        "cvar": None,
        "best_bar": number(r.max()),
        "worst_bar": number(r.min()),
        "psr": probability(r, 0.0) if varies else None,
        "dsr_10": deflated(r, 10, 1 / (n - 1)) if varies else None,
        "dsr_10_v": deflated(r, 10, 0.003) if varies else None,
        "benchmark_return": number(ep.cum_returns_final(b)),
        "beta": None,
        "alpha": None,
        "information_ratio": None,
    }
    out["calmar"] = number(out["cagr"] / out["max_drawdown"]) if out["max_drawdown"] > 0 and out["cagr"] is not None else None
    if n >= 20:
        out["var"] = number(-ep.value_at_risk(r, LEVEL))
        out["cvar"] = number(-r[r <= np.quantile(r, LEVEL)].mean())
    if n > 1:
        line = stats.linregress(b - RF / N, r - RF / N)
        out["beta"], out["alpha"] = number(line.slope), number(line.intercept * N)
        active = qs.stats.information_ratio(pd.Series(r), pd.Series(b))
        out["information_ratio"] = number(active * math.sqrt(N))
    return out | drawdown(r) | trades(r)


def omega(r):
    d = r - MAR / N
    below = -d[d < 0].sum()
    if below == 0:
        return None
    if len(r) > 1:
        witness = ep.omega_ratio(r, required_return=MAR / N, annualization=1)
        assert abs(witness - d[d > 0].sum() / below) < 1e-9 * max(1, witness)
    return number(d[d > 0].sum() / below)


def one_sortino(r):
    d = r[0] - MAR / N
    return number(d / abs(d) * math.sqrt(N)) if d < 0 else None


def overfitting(m, s):
    """PBO by CSCV: m is [bars, trials], s divides the bars."""
    blocks = np.split(m, s)
    logits = []
    for chosen in itertools.combinations(range(s), s // 2):
        inside = np.concatenate([blocks[k] for k in chosen])
        outside = np.concatenate([blocks[k] for k in range(s) if k not in chosen])
        sharpe = lambda x: x.mean(axis=0) / x.std(axis=0, ddof=1)
        best = sharpe(inside).argmax()
        w = stats.rankdata(sharpe(outside))[best] / (m.shape[1] + 1)
        logits.append(math.log(w / (1 - w)))
    return {"probability": float(np.mean(np.array(logits) <= 0)), "logits": sorted(logits)}


def main():
    cases = []
    for k, (kind, draw) in enumerate(KINDS.items()):
        for n in LENGTHS:
            g = np.random.default_rng([20240101, k, n])
            r = np.round(draw(g, n), 6) + 0.0
            b = np.round(0.5 * r + g.normal(0.0003, 0.008, n), 6) + 0.0
            cases.append({"name": f"{kind}_{n}", "returns": r.tolist(), "benchmark": b.tolist(), "expected": expect(kind, r, b)})
    m = np.round(np.random.default_rng(7).normal(0, 0.01, (160, 9)) + np.linspace(-0.0005, 0.001, 9), 6)
    golden = {
        "settings": {"periods_per_year": N, "risk_free": RF, "mar": MAR, "var_level": LEVEL},
        "versions": {"numpy": np.__version__, "pandas": pd.__version__, "quantstats": qs.__version__, "empyrical": ep.__version__},
        "cases": cases,
        "overfitting": {"n_blocks": 8, "trials": m.T.tolist(), "expected": overfitting(m, 8)},
    }
    pathlib.Path(__file__).with_name("metric.json").write_text(json.dumps(golden, separators=(",", ":")).replace('{"name"', '\n{"name"') + "\n")


main()
