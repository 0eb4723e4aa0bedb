"""Writes equity.json: what vectorbt and backtesting.py make of an SMA cross on examples/data/ibm-daily.csv, under the settings
where their conventions and gigabar's meet (docs/conventions.md). Run from anywhere:

    pip install vectorbt==1.2.0 backtesting==0.6.6 numba==0.68.1 numpy==2.4.6 pandas==3.1.1
    python crates/backtest/tests/it/golden/make_equity_golden.py

Both: long while SMA(11) > SMA(37), short while below; decided at a close, filled at the next open, half of the equity
at that close, commission 2 bp of the traded value. vectorbt: any fraction of a unit, 1 bp of slippage. backtesting.py: whole
units, no spread (its own is paid on entries only). What is open at the end stays open. Kept is every tenth bar.

    python make_equity_golden.py --conventions    prints the table of docs/conventions.md: each program as it comes
"""

import json
import math
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import vectorbt as vbt
from backtesting import Backtest, Strategy
from backtesting.lib import crossover

HERE = Path(__file__).resolve().parent
CSV = HERE.parents[4] / "examples" / "data" / "ibm-daily.csv"
FAST, SLOW, CASH, SHARE, FEE, SLIP, STEP = 11, 37, 100_000.0, 0.5, 2e-4, 1e-4, 10


def levels(close):
    """−1, 0 or 1 at every close, from whole cents: no two averages are equal, so rounding decides nothing."""
    cents = (close * 100).round().astype("int64")
    above = cents.rolling(FAST).sum() * SLOW - cents.rolling(SLOW).sum() * FAST
    assert not (above == 0).any()
    wanted = np.sign(above.to_numpy())
    return pd.Series(wanted).ffill().fillna(0.0).to_numpy()


def with_vectorbt(bars, level):
    close, open_ = bars.Close.to_numpy(), bars.Open.to_numpy()
    changed = np.diff(level, prepend=0.0) != 0.0
    size = np.full(close.size, np.nan)
    size[1:] = np.where(changed[:-1], SHARE * level[:-1], np.nan)
    pf = vbt.Portfolio.from_orders(
        close,
        size,
        size_type="targetpercent",
        price=open_,
        val_price=np.concatenate([close[:1], close[:-1]]),
        fees=FEE,
        slippage=SLIP,
        init_cash=CASH,
        freq="1D",
    )
    return pf


class Cross(Strategy):
    def init(self):
        self.level = levels(self.data.Close.s.reset_index(drop=True))
        self.held = 0.0

    def next(self):
        wanted = self.level[len(self.data) - 1]
        if wanted == self.held:
            return
        self.held = wanted
        units = math.trunc(SHARE * self.equity / self.data.Close[-1])
        self.position.close()
        if units:
            (self.buy if wanted > 0 else self.sell)(size=units)


def with_backtesting(bars):
    return Backtest(bars, Cross, cash=CASH, commission=FEE, finalize_trades=False).run()


def conventions(bars):
    """The tables of docs/conventions.md: each program with its own defaults, all of the money and no costs; then the settings
    that meet."""

    class Usual(Strategy):
        def init(self):
            self.fast = self.I(lambda x: pd.Series(x).rolling(FAST).mean(), self.data.Close)
            self.slow = self.I(lambda x: pd.Series(x).rolling(SLOW).mean(), self.data.Close)

        def next(self):
            if crossover(self.fast, self.slow):
                self.position.close()
                self.buy()
            elif crossover(self.slow, self.fast):
                self.position.close()
                self.sell()

    fast, slow = vbt.MA.run(bars.Close, FAST), vbt.MA.run(bars.Close, SLOW)
    above, below = fast.ma_crossed_above(slow), fast.ma_crossed_below(slow)
    usual = vbt.Portfolio.from_signals(bars.Close, above, short_entries=below, init_cash=CASH, freq="1D")
    meeting = with_vectorbt(bars, levels(bars.Close.reset_index(drop=True)))
    keys = ["Equity Final [$]", "Sharpe Ratio", "Sortino Ratio", "Volatility (Ann.) [%]", "CAGR [%]", "Max. Drawdown [%]"]
    keys += ["# Trades", "Win Rate [%]", "Exposure Time [%]"]
    for name, pf in (("defaults", usual), ("meeting", meeting)):
        pairs = {"final": pf.final_value(), "sharpe": pf.sharpe_ratio(), "sortino": pf.sortino_ratio()}
        pairs |= {"volatility": pf.annualized_volatility(), "annual": pf.annualized_return(), "drawdown": pf.max_drawdown()}
        pairs |= {"trades": pf.trades.count(), "closed": pf.trades.closed.count(), "won": pf.trades.win_rate()}
        print("vectorbt", name, {key: float(value) for key, value in pairs.items()})
    defaults = Backtest(bars, Usual, cash=CASH, finalize_trades=True).run()
    for name, stats in (("defaults", defaults), ("meeting", with_backtesting(bars))):
        print("backtesting.py", name, {key: float(stats[key]) for key in keys})


def main():
    warnings.simplefilter("ignore")
    bars = pd.read_csv(CSV, index_col=0, parse_dates=True)
    bars.columns = [name.capitalize() for name in bars.columns]
    if "--conventions" in sys.argv:
        return conventions(bars)
    level = levels(bars.Close.reset_index(drop=True))
    portfolio, stats = with_vectorbt(bars, level), with_backtesting(bars)
    vector, event = portfolio.value().to_numpy(), stats["_equity_curve"]["Equity"].to_numpy()
    kept = list(range(0, len(bars) - 1, STEP))
    golden = {
        "origin": "make_equity_golden.py on examples/data/ibm-daily.csv: vectorbt 1.2.0, backtesting.py 0.6.6",
        "bars": kept,
        "vectorbt": {"orders": len(portfolio.orders.records), "equity": [float(vector[i]) for i in kept]},
        "backtesting_py": {"closed_trades": len(stats["_trades"]), "equity": [float(event[i]) for i in kept]},
    }
    (HERE / "equity.json").write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main()
