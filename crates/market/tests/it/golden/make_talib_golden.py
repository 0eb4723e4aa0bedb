"""Makes bars.csv and talib.csv: a seeded synthetic series, and TA-Lib's indicators of it.

    python -m venv venv && venv/bin/pip install ta-lib==0.8.2 numpy==2.4.6
    venv/bin/python make_talib_golden.py

The series is artificial (no vendor data). Prices are rounded to cents so that equal closes, equal highs and equal
typical prices occur; a few bars are flat, a few have no volume. An empty cell is TA-Lib's NaN: not defined yet.
"""

import pathlib

import numpy as np
import talib

HERE = pathlib.Path(__file__).parent
N_BARS = 600


def make_bars():
    rng = np.random.default_rng(20240607)
    close = np.round(80.0 * np.exp(np.cumsum(rng.normal(0.0, 0.01, N_BARS))), 2)
    open_ = np.round(np.concatenate(([80.0], close[:-1])) * np.exp(rng.normal(0.0, 0.002, N_BARS)), 2)
    wick = lambda: np.abs(rng.normal(0.0, 0.004, N_BARS))
    high = np.round(np.maximum(open_, close) * (1.0 + wick()), 2)
    low = np.round(np.minimum(open_, close) * (1.0 - wick()), 2)
    volume = np.round(1000.0 * np.exp(rng.normal(0.0, 0.6, N_BARS)), 1)
    for t in range(200, 206):
        open_[t] = high[t] = low[t] = close[t] = close[199]
    volume[[50, 51, 52, 300, 301]] = 0.0
    return open_, high, low, close, volume


def make_indicators(o, h, l, c, v):
    out = {}
    for p in (5, 20):
        out[f"sma_{p}"] = talib.SMA(c, p)
        out[f"stddev_{p}"] = talib.STDDEV(c, p)
    for p in (10, 100):
        out[f"ema_{p}"] = talib.EMA(c, p)
    for p in (2, 14):
        out[f"rsi_{p}"] = talib.RSI(c, p)
    out["macd"], out["macd_signal"], out["macd_histogram"] = talib.MACD(c)
    out["macd_5_35_5"], out["macd_signal_5_35_5"], out["macd_histogram_5_35_5"] = talib.MACD(c, 5, 35, 5)
    out["bb_upper"], out["bb_middle"], out["bb_lower"] = talib.BBANDS(c, 20, 2.0, 2.0)
    out["true_range"] = talib.TRANGE(h, l, c)
    for p in (7, 14):
        out[f"atr_{p}"] = talib.ATR(h, l, c, p)
        out[f"adx_{p}"] = talib.ADX(h, l, c, p)
        out[f"plus_di_{p}"] = talib.PLUS_DI(h, l, c, p)
        out[f"minus_di_{p}"] = talib.MINUS_DI(h, l, c, p)
    out["stoch_k"], out["stoch_d"] = talib.STOCH(h, l, c)
    out["stoch_k_14_3_3"], out["stoch_d_14_3_3"] = talib.STOCH(h, l, c, 14, 3, 0, 3, 0)
    out["stoch_k_9_1_4"], out["stoch_d_9_1_4"] = talib.STOCH(h, l, c, 9, 1, 0, 4, 0)
    for p in (14, 20):
        out[f"cci_{p}"] = talib.CCI(h, l, c, p)
    out["willr_14"] = talib.WILLR(h, l, c, 14)
    out["mfi_14"] = talib.MFI(h, l, c, v, 14)
    out["obv"] = talib.OBV(c, v)
    for p in (14, 25):
        out[f"aroon_down_{p}"], out[f"aroon_up_{p}"] = talib.AROON(h, l, p)
        out[f"aroon_oscillator_{p}"] = talib.AROONOSC(h, l, p)
    for p in (5, 60):
        out[f"rocp_{p}"] = talib.ROCP(c, p)
    out["linearreg_slope_20"] = talib.LINEARREG_SLOPE(c, 20)
    return out


def write(name, columns):
    cell = lambda x: "" if np.isnan(x) else f"{x:.13g}"
    rows = [",".join(map(cell, row)) for row in zip(*columns.values())]
    (HERE / name).write_text("\n".join([",".join(columns), *rows]) + "\n")


bars = make_bars()
write("bars.csv", dict(zip(("open", "high", "low", "close", "volume"), bars)))
write("talib.csv", make_indicators(*bars))
print("ta-lib", talib.__version__, "C library", talib.__ta_version__.decode(), "numpy", np.__version__)
