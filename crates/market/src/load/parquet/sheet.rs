//! Some columns of a Parquet file side by side, a batch of rows at a time.

use std::path::PathBuf;

use bytes::Bytes;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::column::{self, Column, Stream, too_many};
use super::kind::Kind;
use super::stamp::Stamp;
use super::{File, LoadError, LoadOptions, broken, by_name, contradictory, guarded, most_rows, wrong_type};
use crate::load::columns::Roles;
use crate::load::container::Part;
use crate::load::time::DateOrder;

/// A file whose rows are still to be read.
pub(crate) struct Sheet {
    path: PathBuf,
    file: File,
    order: DateOrder,
    max_rows: usize,
}

impl Sheet {
    /// With the names of its columns and what they say of themselves.
    pub(crate) fn open(part: Part, options: &LoadOptions) -> Result<(Self, Vec<String>, Roles), LoadError> {
        let Part { path, bytes, .. } = part;
        let max_rows = most_rows(bytes.len());
        let opened = guarded(|| {
            let file: File = SerializedFileReader::new(Bytes::from(bytes)).map_err(|e| broken(&path, &e))?;
            let (names, roles, _) = by_name(&file);
            let mut order = options.date_order.unwrap_or(DateOrder::Dmy);
            if let Some(time) = roles.time.filter(|&time| kind(&file, time) == Kind::Text) {
                let read = |column| Column::read(&file, column, max_rows).map_err(|e| broken(&path, &e));
                let (time_cells, clock) = (read(time)?, roles.clock.map(read).transpose()?);
                let clock = clock.as_ref().filter(|clock| clock.len() == time_cells.len());
                order = column::date_order(&path, &names[time], Stamp { time: &time_cells, clock }, options)?;
            }
            Ok((file, order, names, roles))
        });
        let (file, order, names, roles) = opened.unwrap_or_else(|| Err(contradictory(&path)))?;
        Ok((Self { path, file, order, max_rows }, names, roles))
    }

    /// How dates like `01/02/2024` are read.
    pub(crate) fn order(&self) -> DateOrder {
        self.order
    }

    /// Shows `visit` batches: the first one's row, counted from 1, the columns by their place in the file, and how many
    /// rows. Of `roles` those of time are read.
    pub(crate) fn for_each<E: From<LoadError>>(
        &self,
        roles: &Roles,
        numbers: &[usize],
        texts: &[usize],
        mut visit: impl FnMut(u64, &[Option<Column>], usize) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check_types(roles, numbers)?;
        let n_columns = self.file.metadata().file_metadata().schema_descr().num_columns();
        let mut wanted: Vec<usize> =
            roles.time.iter().chain(&roles.clock).chain(numbers).chain(texts).copied().collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut columns: Vec<Option<Column>> = (0..n_columns).map(|_| None).collect();
        wanted.iter().for_each(|&i| columns[i] = Some(Column::empty(kind(&self.file, i))));
        let mut done = 0;
        for group in 0..self.file.num_row_groups() {
            let open = || wanted.iter().map(|&i| Stream::open(&self.file, group, i)).collect::<Result<Vec<_>, _>>();
            let opened = guarded(open).ok_or_else(|| contradictory(&self.path))?;
            let mut streams = opened.map_err(|e| broken(&self.path, &e))?;
            loop {
                let n = self.fill(&wanted, &mut streams, &mut columns)?;
                if n == 0 {
                    break;
                }
                visit(done as u64 + 1, &columns, n)?;
                done += n;
                if done > self.max_rows {
                    return Err(broken(&self.path, &too_many(self.max_rows)).into());
                }
            }
        }
        Ok(())
    }

    /// The next rows of every wanted column; how many.
    fn fill(
        &self,
        wanted: &[usize],
        streams: &mut [Stream],
        columns: &mut [Option<Column>],
    ) -> Result<usize, LoadError> {
        let read = || {
            let mut expected = None;
            for (&i, stream) in wanted.iter().zip(streams) {
                let Some(column) = columns[i].as_mut() else { continue };
                let got = column.refill(stream).map_err(|e| broken(&self.path, &e))?;
                let expected = *expected.get_or_insert(got);
                if got != expected {
                    let detail = format!("a column of {got} values beside one of {expected}");
                    return Err(LoadError::Broken { path: self.path.clone(), format: "Parquet", detail });
                }
            }
            Ok(expected.unwrap_or(0))
        };
        guarded(read).unwrap_or_else(|| Err(contradictory(&self.path)))
    }

    /// Whether numbers can be made of a column's values.
    pub(crate) fn may_hold_numbers(&self, column: usize) -> bool {
        self.holds(column, |kind| kind.is_number_like() || kind == Kind::Boolean)
    }

    fn holds(&self, column: usize, values: fn(Kind) -> bool) -> bool {
        let columns = self.file.metadata().file_metadata().schema_descr();
        columns.column(column).max_rep_level() == 0 && values(kind(&self.file, column))
    }

    fn check_types(&self, roles: &Roles, numbers: &[usize]) -> Result<(), LoadError> {
        if let Some(time) = roles.time.filter(|&i| !self.holds(i, Kind::is_stamp_like)) {
            return Err(wrong_type(&self.path, &self.file, time, "time stamps"));
        }
        if let Some(clock) = roles.clock.filter(|&i| !self.holds(i, Kind::is_clock_like)) {
            return Err(wrong_type(&self.path, &self.file, clock, "times of day"));
        }
        match numbers.iter().find(|&&i| !self.may_hold_numbers(i)) {
            Some(&i) => Err(wrong_type(&self.path, &self.file, i, "numbers")),
            None => Ok(()),
        }
    }
}

fn kind(file: &File, column: usize) -> Kind {
    Kind::of(&file.metadata().file_metadata().schema_descr().column(column))
}
