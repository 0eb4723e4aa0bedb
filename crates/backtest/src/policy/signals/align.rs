//! [`Cursor`]: the rows of one strategy beside the bars they must match one to one.

use gigabar_market::load::{Frame, Place, Row, Stamps};
use gigabar_market::time::iso;

use super::error::{Misfit, SignalsError, Spot};
use super::name::shortened;

/// How the bars were made of those of their file.
pub(super) struct Made {
    /// Whether bars are cut off before the first, after the last.
    pub(super) cut: [bool; 2],
    /// The `resample` option.
    pub(super) resample: Option<String>,
}

/// Where a strategy's rows are.
pub(super) struct Cursor<'a> {
    frame: &'a Frame,
    /// The bars'. `[n_bars]`
    ts: &'a [i64],
    made: &'a Made,
    stamps: Stamps,
    /// Bars that have a row; without stamps, rows.
    n: usize,
    /// The first row without a bar, where rows have no stamps.
    beyond: Option<Place>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(frame: &'a Frame, ts: &'a [i64], made: &'a Made) -> Self {
        Self { frame, ts, made, stamps: frame.stamps(), n: 0, beyond: None }
    }

    /// Whether the row is that of the next bar; if not it lies where the bars were cut, or there are more rows than
    /// bars, which [`Self::end`] tells.
    pub(super) fn take(&mut self, row: &Row<'_>, strategy: Option<&str>) -> Result<bool, SignalsError> {
        let Some(column) = self.frame.time() else {
            if self.n >= self.ts.len() {
                self.beyond.get_or_insert(row.place());
            }
            self.n += 1;
            return Ok(self.n <= self.ts.len());
        };
        let Some(ts) = row.instant(&mut self.stamps) else {
            return Err(SignalsError::Stamp {
                spot: Spot::of(self.frame, row, column, strategy),
                text: shortened(&row.stamp_text()),
                unnamed: self.frame.names()[column].is_empty(),
            });
        };
        let expected = self.ts.get(self.n).copied();
        if expected == Some(ts) {
            self.n += 1;
            return Ok(true);
        }
        let [first, last] = [self.ts[0], self.ts[self.ts.len() - 1]];
        if (self.made.cut[0] && self.n == 0 && ts < first) || (self.made.cut[1] && expected.is_none() && ts > last) {
            return Ok(false);
        }
        Err(SignalsError::Misaligned {
            spot: Spot::of(self.frame, row, column, strategy),
            text: dated(&row.stamp_text(), ts),
            bar: self.n,
            expected: expected.map(iso),
            misfit: self.misfit(ts),
            resample: self.made.resample.clone(),
        })
    }

    /// Why a row with the stamp `ts` is not that of the next bar.
    fn misfit(&self, ts: i64) -> Misfit {
        match self.ts.binary_search(&ts) {
            Ok(bar) if bar < self.n => Misfit::Again { bar },
            Ok(bar) => Misfit::Gap { bars: bar - self.n },
            Err(_) if ts < self.ts[0] => Misfit::Before,
            Err(_) if ts > self.ts[self.ts.len() - 1] => Misfit::After,
            Err(_) => Misfit::NoBar,
        }
    }

    /// Every bar must have had its row.
    pub(super) fn end(&self, strategy: Option<&str>) -> Result<(), SignalsError> {
        let expected = self.ts.len();
        let where_ = match self.beyond {
            Some(place) => format!("{place} is the first without a bar"),
            None if self.n < expected => {
                let whose = if strategy.is_some() { "its rows end" } else { "the file ends" };
                format!("{whose} before bar {} ({})", self.n, iso(self.ts[self.n]))
            }
            None => return Ok(()),
        };
        Err(SignalsError::Length {
            path: self.frame.path().into(),
            strategy: strategy.map(Into::into),
            expected,
            got: self.n,
            where_,
            stamped: self.frame.time().is_some(),
            cut: self.made.cut.contains(&true),
            resample: self.made.resample.clone(),
        })
    }
}

/// A stamp as it stands in the file; of an epoch also the date.
fn dated(text: &str, ts: i64) -> String {
    let is_number = text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'.')) && text.parse::<f64>().is_ok();
    if is_number { format!("{} ({})", shortened(text), iso(ts)) } else { shortened(text) }
}
