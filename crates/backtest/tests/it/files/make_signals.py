"""Signals as pandas and polars write them to Parquet, for tests/it/signals.rs.

    pip install pandas==3.1.1 pyarrow==26.0.1 polars==2.1.0
    python make_signals.py
"""

from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parent
DAYS = pd.DatetimeIndex(["2024-01-02", "2024-01-03", "2024-01-04"])
wide = pd.DataFrame({"slow": [1.0, None, 0.0], "fast": [-1.0, 0.5, 0.25]}, index=DAYS)
long = wide.rename_axis("ts").reset_index().melt("ts", var_name="strategy", value_name="level")

# An index without a name, and one with a zone.
wide.to_parquet(HERE / "pandas_wide.parquet")
wide.rename_axis("Date").tz_localize("UTC").to_parquet(HERE / "pandas_zone.parquet", compression="zstd")
categories = long.sort_values("ts", kind="stable").astype({"strategy": "category"})
categories.to_parquet(HERE / "pandas_long.parquet", row_group_size=4)
frame = pl.from_pandas(wide.rename_axis("ts").reset_index())
frame.with_columns(pl.col("ts").dt.date(), pl.col("slow").cast(pl.Int8)).write_parquet(HERE / "polars_wide.parquet")
pl.from_pandas(long).write_parquet(HERE / "polars_long.parquet")

# Every type of number, and the type of a column that is empty.
levels = [Decimal("1"), Decimal("-0.5"), Decimal("0")]
types = {
    "ts": pa.array(DAYS),
    "d256": pa.array(levels, pa.decimal256(76, 60)),
    "d128": pa.array(levels, pa.decimal128(38, 10)),
    "half": pa.array(np.array([1.0, -0.5, 0.0], dtype=np.float16)),
    "f32": pa.array([1.0, -0.5, 0.0], pa.float32()),
    "none": pa.nulls(3),
}
pq.write_table(pa.table(types), HERE / "types.parquet")
nothing = pl.DataFrame({"ts": DAYS.to_numpy(), "a": [1.0, 1.0, 0.0], "none": [None, None, None]})
nothing.write_parquet(HERE / "polars_null.parquet")
wide.assign(fast=[True, False, True]).to_parquet(HERE / "booleans.parquet")

# What does not fit.
large = pa.array([Decimal("1"), Decimal("1234567.5"), Decimal("0")], pa.decimal256(50, 2))
pq.write_table(pa.table({"ts": pa.array(DAYS), "a": large}), HERE / "large.parquet")
wide.assign(fast=[-1.0, float("inf"), 0.0]).to_parquet(HERE / "infinite.parquet")
wide.iloc[[0, 2]].to_parquet(HERE / "gap.parquet")
long.iloc[[0, 1, 2, 3, 3, 4]].to_parquet(HERE / "twice.parquet", index=False)
