//! What to do about a [`LoadError`].

use super::LoadError;

impl LoadError {
    /// What to do about it, where there is something to do.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Read { .. } | Self::NotText { .. } | Self::Empty { .. } | Self::TooFew { .. } => return None,
            Self::Quote { .. } => {
                "the rows behind a stray quote would be lost: remove it, double it inside a quoted field, or put the field on one line"
            }
            Self::NoMember { .. } => "give ARCHIVE/MEMBER, or the archive alone for all its members",
            Self::Members { .. } => "give one of them, as ARCHIVE/MEMBER",
            Self::Format { remedy, .. } | Self::NotBarFile { remedy, .. } => remedy,
            Self::Broken { .. } => "fetch the file again, and compare its size with the source's",
            Self::TooLarge { .. } => "unpack it by hand, look at it, and give the plain file",
            Self::Endless { .. } => "write it to a file first, as much of it as is wanted",
            Self::Codec { .. } => {
                "write it again with snappy, zstd, gzip, lz4 or no compression (pandas: to_parquet(…, compression=\"zstd\"))"
            }
            Self::TwoMembers { .. } => "unpack both under names of their own, and give the files",
            Self::Schema { .. } => "name them, e.g. --columns \"close=Last,time=Day\"",
            Self::ColumnType { .. } => {
                "numbers are floats, integers, decimals or text; stamps are timestamps, dates, epochs or text: convert the column"
            }
            Self::NoAdjusted { .. } => {
                "such a column is called Adj Close; without one, adjust the prices before, or leave --adjust out"
            }
            Self::Adjusted { .. } => "mend the row, cut it off with --from or --to, or leave --adjust out",
            Self::Cut { .. } => "give --from and --to as dates or stamps of the file, read in --tz",
            Self::Overlap { .. } => {
                "several files make one series when each begins after the one before ends: leave one out, or of an archive give one member, ARCHIVE/MEMBER"
            }
            Self::Differ { what: "symbol", .. } => "give files of one symbol, or --symbol where they hold several",
            Self::Differ { .. } => "give files of one interval; `data convert FILE --resample 1h` makes them so",
            Self::NoTable { .. } | Self::Header { .. } => {
                "name the columns in file order, e.g. --columns ts,open,high,low,close,volume (- skips one), or by header, e.g. --columns \"close=Last,time=Day\""
            }
            Self::NotBars { .. } => {
                "trades and event lists are not bars: resample them first; a series of closes loads with --columns ts,close"
            }
            Self::Ticks { time, price, .. } => {
                return Some(format!(
                    "make bars of them first; prices of one moment each load as closes with --columns \"time={time},close={price}\""
                ));
            }
            Self::Columns { .. } => {
                "names are ts, date, time, open, high, low, close, volume, symbol and - for a column to skip"
            }
            Self::Setting { option: "tz", .. } => {
                "time zones have IANA names, e.g. UTC, America/New_York or Europe/Berlin"
            }
            Self::Setting { option: "from" | "to", .. } => {
                "for example 2020-01-31, \"2020-01-31 09:30\" or 2020-01-31T09:30:00Z"
            }
            Self::Setting { option: "from and to", .. } => "change them about",
            Self::Setting { option: "resample", .. } => {
                "for example 15min, 4h, 1d, 1w, 1mo, or 1d@17:00 for days that begin at 17:00"
            }
            Self::Resample { remedy, .. } => return remedy.clone(),
            Self::Setting { .. } => return None,
            Self::ColumnOrder { looks_like, .. } => return Some(format!("pass --columns {looks_like}")),
            Self::DateOrder { .. } => "say which: --date-order dmy or --date-order mdy",
            Self::DateConflict { .. } => {
                "mend the file, or name one order with --date-order: the rows of the other are then named one by one"
            }
            Self::Symbols { found, .. } | Self::UnknownSymbol { found, .. } => {
                let first = found.first().map_or("NAME", String::as_str);
                return Some(format!("choose one, e.g. --symbol {first}"));
            }
            Self::Missing { .. } | Self::Number { .. } => {
                "mend the line, or pass --repair: it drops rows without a price, and counts volumes that are none as 0"
            }
            Self::Fields { .. } | Self::Time { .. } => {
                "mend the line, or pass --repair to drop rows that cannot be read"
            }
            Self::Price { .. } => {
                "returns need prices above zero: cut the file before or after, or pass --repair to drop such rows"
            }
            Self::Volume { .. } => "pass --repair to count such a volume as 0",
            Self::Range { .. } => "mend the line, or pass --repair to widen high and low to contain open and close",
            Self::Skipped { zone, .. } => {
                return Some(format!(
                    "the stamps are hardly those of {zone}: leave --tz out for UTC, or give the zone they are of"
                ));
            }
            Self::FlatTicks { .. } => {
                "make bars of them first; --repair keeps the last row of each stamp and takes every trade for a bar"
            }
            Self::Duplicate { apart: Some(column), .. } => {
                return Some(format!(
                    "such rows differ in column {column}, which is not used: a time of day is named beside its date, \
                     e.g. --columns \"date=Date,time={column}\"; a symbol with --columns \"symbol={column}\""
                ));
            }
            Self::Duplicate { many: Some(rows), .. } => {
                return Some(format!(
                    "{rows} rows repeat a stamp, too many for a slip: the file holds several instruments, trades, or a \
                     time of day in a column of its own (--columns date,time,open,… names it)"
                ));
            }
            Self::Duplicate { .. } => "pass --repair to keep the last row of each time stamp",
            Self::Unsorted { .. } => "sort the file by time, or pass --repair to have it sorted",
        };
        Some(text.to_owned())
    }
}
