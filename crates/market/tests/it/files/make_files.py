"""Makes the binary files of this folder and resampled.csv; run in a venv with pandas, pyarrow and zstandard.

The same five bars lie in every Parquet file, in as many types as pandas, polars and Spark write. resampled.csv holds what
pandas 3 (1h, 1d, 1w, 1mo) and a loop over zoneinfo's wall clock (4h) make of quarter hours over both changes of the clocks in
New York in 2024; quarters.csv is their source. lies.parquet is not made here: examples/fuzz.rs (target parquet, seed 23, case
6691) made it of one of the others.
"""
import io
import os
import zipfile
from datetime import timedelta
from decimal import Decimal
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

os.chdir(os.path.dirname(os.path.abspath(__file__)))
STAMPS = pd.date_range("2024-01-15 09:30", periods=5, freq="1min")
PRICES = {
    "open": [10.0, 11.0, 12.0, 11.5, 12.25],
    "high": [12.0, 13.0, 12.5, 12.5, 13.0],
    "low": [9.0, 10.0, 11.0, 11.0, 12.0],
    "close": [11.0, 12.0, 11.5, 12.25, 12.75],
    "volume": [100.0, 200.0, 0.0, 300.0, 50.0],
}


def frame(**first):
    return pd.DataFrame({**first, **PRICES})


def table(name, stamps, prices=None, **options):
    columns = {"timestamp": stamps, **{k: pa.array(v) for k, v in (prices or PRICES).items()}}
    pq.write_table(pa.table(columns), name, **options)


ns = STAMPS.as_unit("ns")
utc = ns.tz_localize("UTC")
new_york = ns.tz_localize("America/New_York")
frame().set_index(ns.rename("Date")).to_parquet("pandas_index.parquet")
frame().set_index(ns).to_parquet("pandas_unnamed_index.parquet")
frame().set_index(ns.rename("when")).to_parquet("pandas_odd_index.parquet")
frame().set_index(new_york.rename("Date")).to_parquet("pandas_new_york.parquet")
table("ms.parquet", pa.array(utc, pa.timestamp("ms", "UTC")), compression="gzip")
table("us_naive.parquet", pa.array(ns, pa.timestamp("us")), compression="zstd")
table("ns.parquet", pa.array(utc, pa.timestamp("ns", "UTC")), compression="lz4")
table("int96.parquet", pa.array(ns, pa.timestamp("ns")), use_deprecated_int96_timestamps=True, compression="none")
table("text.parquet", pa.array([str(s) for s in STAMPS]))
table("epoch_s.parquet", pa.array([int(s.timestamp()) for s in utc], pa.int64()), data_page_version="2.0")
table("epoch_u64_ns.parquet", pa.array([s.value for s in utc], pa.uint64()))
table("date32.parquet", pa.array([d.date() for d in pd.date_range("2024-01-15", periods=5)], pa.date32()))
decimal = {k: pa.array([Decimal(str(x)) for x in v], pa.decimal128(20, 4)) for k, v in PRICES.items()}
table("decimal.parquet", pa.array(utc, pa.timestamp("ms", "UTC")), decimal)
small = {k: pa.array([Decimal(str(x)) for x in v], pa.decimal128(9, 2)) for k, v in PRICES.items()}
table("decimal_int32.parquet", pa.array(utc), small, store_decimal_as_integer=True)
wide = {k: pa.array([Decimal(str(x)) for x in v], pa.decimal256(76, 18)) for k, v in PRICES.items()}
table("decimal256.parquet", pa.array(utc), wide)
table("null_volume.parquet", pa.array(utc), {**PRICES, "volume": pa.nulls(5)})
table("float32.parquet", pa.array(utc), {k: pa.array(v, pa.float32()) for k, v in PRICES.items()}, row_group_size=2)
strings = {k: pa.array([str(x) for x in v]) for k, v in PRICES.items()}
table("strings.parquet", pa.array(utc), strings)
nulls = {**PRICES, "close": [11.0, 12.0, None, 12.25, 12.75]}
table("null.parquet", pa.array(utc), nulls)
two = pd.concat([frame(timestamp=utc, symbol="AAA"), frame(timestamp=utc, symbol="BBB")])
two["symbol"] = two["symbol"].astype("category")
two.to_parquet("symbols.parquet", index=False)
pq.write_table(pa.table({"timestamp": pa.array(utc), "px": pa.array(PRICES["close"])}), "no_prices.parquet")
# Date and time of day apart, as types, as pandas makes of a text, as MetaTrader's text, as digits.
apart = {
    "date32_time64": {"date": pa.array([d.date() for d in STAMPS], pa.date32()),
                      "clock": pa.array([d.time() for d in STAMPS], pa.time64("us"))},
    "date_ns_text": {"Date": pa.array(ns.normalize(), pa.timestamp("ns")), "Time": [f"{d:%H:%M}" for d in STAMPS]},
    "date_time_text": {"<DATE>": [f"{d:%Y.%m.%d}" for d in STAMPS], "<TIME>": [f"{d:%H:%M:%S}" for d in STAMPS]},
    "date_time_digits": {"date": [int(f"{d:%Y%m%d}") for d in STAMPS], "time": [int(f"{d:%H%M}") for d in STAMPS]},
    "date_time_whole": {"date": [f"{d:%Y-%m-%d}" for d in STAMPS], "time": pa.array(ns, pa.timestamp("us"))},
}
apart["date_time_typed"] = {"date": apart["date32_time64"]["date"], "time": pa.array([d.time() for d in STAMPS], pa.time32("s"))}
apart["date_time_span"] = {"date": apart["date32_time64"]["date"], "time": pa.array(ns - ns.normalize(), pa.duration("ns"))}
for name, stamps in apart.items():
    pq.write_table(pa.table({**stamps, **PRICES}), f"{name}.parquet")
pq.write_table(pa.table({"ts": pa.array(utc), "price": PRICES["close"], "size": PRICES["volume"]}), "trades.parquet")
# As yfinance's download(...) of one ticker and of two gives columns.
for tickers in (["AAA"], ["AAA", "BBB"]):
    both = {(k.title(), t): [x * (1 + i) for x in v] for k, v in PRICES.items() for i, t in enumerate(tickers)}
    pd.DataFrame(both, index=ns.rename("Date")).to_parquet(f"yfinance_{len(tickers)}.parquet")
days = ["10/03/2024", "11/03/2024", "12/03/2024", "01/04/2024", "02/04/2024"]
pq.write_table(pa.table({"date": days, **PRICES}), "date_sorted.parquet")
days = ["13/04/2024", "04/14/2024", "04/15/2024", "04/16/2024", "04/17/2024"]
pq.write_table(pa.table({"date": days, **PRICES}), "date_conflict.parquet")
fixed = {k: pa.array([int(x * 1e9).to_bytes(8, "little") for x in v], pa.binary(8)) for k, v in PRICES.items()}
table("fixed.parquet", pa.array(utc), fixed)
table("brotli.parquet", pa.array(utc), compression="brotli")

TEXT = "timestamp,open,high,low,close,volume\n" + "".join(
    f"{s},{','.join(str(PRICES[k][i]) for k in PRICES)}\n" for i, s in enumerate(STAMPS))


def archive(name, members):
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as z:
        for member, data in members.items():
            z.writestr(zipfile.ZipInfo(member, (2024, 1, 15, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)


with open("bars.csv.zst", "wb") as f:
    f.write(zstandard.compress(TEXT.encode()))
buffer = io.BytesIO()
frame(timestamp=utc).to_parquet(buffer, index=False)
archive("parquet.zip", {"bars.parquet": buffer.getvalue()})
# Vendors put a report beside the data; macOS puts its own.
archive("with_report.zip", {"bars.csv": TEXT, "bars.txt": "gap of 61s found", "__MACOSX/._bars.csv": "x", ".DS_Store": "x"})
lines = TEXT.splitlines(keepends=True)
archive("two_days.zip", {"b.csv": lines[0] + "".join(lines[4:]), "a.csv": "".join(lines[:4])})
archive("two_symbols.zip", {"aaa.csv": TEXT, "bbb.csv": TEXT})
LEAN = "".join(
    f"{(570 + i) * 60000},{','.join(str(int(PRICES[k][i] * 10000)) for k in list(PRICES)[:4])},{int(PRICES['volume'][i])}\n"
    for i in range(5))
archive("20240115_trade.zip", {"20240115_aaa_minute_trade.csv": LEAN})
archive("20240115_quote.zip", {"20240115_aaa_minute_quote.csv": "34200000,1,1,1,1,5,1,1,1,1,5\n"})
archive("empty.zip", {})
with zipfile.ZipFile("two_alike.zip", "w") as z:
    for day in (slice(0, 4), slice(4, 6)):
        z.writestr(zipfile.ZipInfo("bars.csv", (2024, 1, 15, 0, 0, 0)), lines[0] + "".join(lines[day][1:]))
with zipfile.ZipFile("bzip2.zip", "w") as z:
    z.writestr(zipfile.ZipInfo("bars.csv", (2024, 1, 15, 0, 0, 0)), TEXT, zipfile.ZIP_BZIP2)

rng = np.random.default_rng(7)
spring = pd.date_range("2024-03-08 14:30", "2024-03-12 19:45", freq="15min", tz="UTC")
autumn = pd.date_range("2024-11-01 13:30", "2024-11-05 20:45", freq="15min", tz="UTC")
stamps = spring.append(autumn)
stamps = stamps[rng.random(len(stamps)) > 0.2]
steps = rng.integers(-8, 9, (len(stamps), 2)).cumsum(axis=0)
opens = 100 + steps[:, 0] / 8
closes = 100 + steps[:, 1] / 8
quarters = pd.DataFrame({
    "open": opens, "high": np.maximum(opens, closes) + 0.25, "low": np.minimum(opens, closes) - 0.25, "close": closes,
    "volume": rng.integers(1, 100, len(stamps)).astype(float)}, index=stamps.rename("ts"))
quarters.index = quarters.index.strftime("%Y-%m-%dT%H:%M:%SZ")
quarters.to_csv("quarters.csv")
quarters.index = stamps.rename("ts")
RULES = {"open": "first", "high": "max", "low": "min", "close": "last", "volume": "sum"}
parts = []


def add(name, made):
    made = made.dropna()
    made.index = made.index.tz_convert("UTC").strftime("%Y-%m-%dT%H:%M:%SZ")
    made.insert(0, "rule", name)
    parts.append(made)


zone = ZoneInfo("America/New_York")
local = quarters.tz_convert(zone)
for name, rule in [("30min", "30min"), ("1h", "1h"), ("1d", "1D"), ("1w", "W-MON"), ("1mo", "MS")]:
    weekly = {"label": "left", "closed": "left"} if name == "1w" else {}
    add(name, local.resample(rule, **weekly).agg(RULES))
# pandas counts four hours in elapsed time from the first day on; here they are those of each day's clock.
wall = local.index.map(lambda s: s.tz_localize(None).floor("4h"))
by_wall = local.groupby(wall).agg(RULES)
by_wall.index = pd.DatetimeIndex([
    s.tz_localize(zone, ambiguous=True, nonexistent="shift_forward") for s in by_wall.index])
add("4h", by_wall)
shifted = local.index.map(lambda s: (s.tz_localize(None) - timedelta(hours=17)).normalize() + timedelta(hours=17))
by_session = local.groupby(shifted).agg(RULES)
by_session.index = pd.DatetimeIndex([s.tz_localize(zone) for s in by_session.index])
add("1d@17:00", by_session)
pd.concat(parts).to_csv("resampled.csv", index_label="ts")

# Two instruments on alternate records, DBN version 3, by Databento's own package databento-dbn.
import databento_dbn as db  # noqa: E402

start = 1_705_311_000_000_000_000
def mapping(symbol, number):
    interval = SimpleNamespace(
        start_date=pd.Timestamp("2024-01-15").date(), end_date=pd.Timestamp("2024-01-16").date(), symbol=number)
    return SimpleNamespace(raw_symbol=symbol, intervals=[interval])


metadata = db.Metadata(
    dataset="XNAS.ITCH", start=start, stype_in=db.SType.RAW_SYMBOL, stype_out=db.SType.INSTRUMENT_ID,
    schema=db.Schema.OHLCV_1M, symbols=["AAA", "BBB"], partial=[], not_found=[], mappings=[mapping("AAA", "1"), mapping("BBB", "2")])
with open("bars.dbn", "wb") as f:
    f.write(metadata.encode())
    for i in range(5):
        for instrument in (1, 2):
            prices = {k: int(PRICES[k][i] * 1e9) for k in ("open", "high", "low", "close")}
            f.write(bytes(db.OHLCVMsg(
                rtype=db.RType.OHLCV_1M, publisher_id=2, instrument_id=instrument, ts_event=start + i * 60_000_000_000,
                volume=int(PRICES["volume"][i]), **prices)))
