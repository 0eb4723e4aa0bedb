//! [`SweepMap`]: a metric over one or two parameters, small enough for a page.

use gigabar_backtest::policy::Grid;
use gigabar_backtest::sweep::SweepRow;
use serde::{Deserialize, Serialize};

use super::SweepColumn;

/// Cells of a map at most; beyond, neighbouring values share a cell.
const MAX_CELLS: usize = 10_000;
/// Points of a line at most.
const MAX_POINTS: usize = 2_000;

/// A metric over the two parameters with the most values, the others at the best set's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepMap {
    /// Key of the metric.
    pub metric: String,
    /// The parameter along a row.
    pub x: MapAxis,
    /// The parameter down the columns; none: the map is a line.
    pub y: Option<MapAxis>,
    /// Mean of the metric over the sets of each cell that traded; undefined where there is none. Row-major `[n_y,
    /// n_x]`.
    pub values: Vec<Option<f64>>,
    /// The cell of the best set: column, row.
    pub best: [usize; 2],
    /// The parameters left out, at the best set's values: name and value.
    pub held: Vec<[String; 2]>,
}

/// One parameter of a map.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MapAxis {
    /// The parameter.
    pub name: String,
    /// Its values as written, `5` or `5–7` where several share a cell. `[n]`
    pub labels: Vec<String>,
    /// The number each cell stands for, the mean of its values. `[n]`
    pub values: Vec<f64>,
    /// Neighbouring values that share a cell.
    pub bin: usize,
}

impl SweepMap {
    /// Of the rows of `grid`; `top` is the best set. None where no parameter takes several values.
    pub(super) fn new(grid: &Grid, rows: &[SweepRow], column: &SweepColumn, top: usize) -> Option<Self> {
        let axes = grid.axes();
        let size = |axis: &usize| axes[*axis].values.len();
        let mut wide: Vec<usize> = (0..axes.len()).filter(|axis| size(axis) > 1).collect();
        wide.sort_by_key(|axis| std::cmp::Reverse(size(axis)));
        let (across, down) = (*wide.first()?, wide.get(1).copied());
        let [x_bin, y_bin] = bins(size(&across), down.as_ref().map(size));
        let x = MapAxis::new(grid, across, x_bin);
        let y = down.map(|axis| MapAxis::new(grid, axis, y_bin));
        let at = grid.position(top);
        let cell = |position: &[usize]| [position[across] / x_bin, down.map_or(0, |axis| position[axis] / y_bin)];
        let left_out = |axis: &usize| *axis != across && Some(*axis) != down;
        let (mut sums, n_x) =
            (vec![(0.0, 0_u32); x.labels.len() * y.as_ref().map_or(1, |y| y.labels.len())], x.labels.len());
        for (i, row) in rows.iter().enumerate() {
            let position = grid.position(i);
            if (0..axes.len()).filter(left_out).any(|axis| position[axis] != at[axis]) {
                continue;
            }
            // A set that never traded has the drawdown of a bank account: not a good region, but none.
            if let Some(value) = (column.value)(row).filter(|_| row.bars_in_market > 0) {
                let [x, y] = cell(&position);
                let (sum, n) = &mut sums[y * n_x + x];
                (*sum, *n) = (*sum + value, *n + 1);
            }
        }
        let held =
            (0..axes.len()).filter(left_out).map(|axis| [axes[axis].name.into(), axes[axis].labels[at[axis]].clone()]);
        Some(Self {
            metric: column.key.into(),
            values: sums.into_iter().map(|(sum, n)| (n > 0).then(|| sum / f64::from(n))).collect(),
            best: cell(&at),
            held: held.collect(),
            x,
            y,
        })
    }
}

impl MapAxis {
    fn new(grid: &Grid, axis: usize, bin: usize) -> Self {
        let axis = &grid.axes()[axis];
        let label = |labels: &[String]| match labels {
            [one] => one.clone(),
            [first, .., last] => format!("{first}–{last}"),
            [] => String::new(),
        };
        Self {
            name: axis.name.into(),
            labels: axis.labels.chunks(bin).map(label).collect(),
            values: axis.values.chunks(bin).map(|values| values.iter().sum::<f64>() / values.len() as f64).collect(),
            bin,
        }
    }
}

/// Values to a cell along each axis, so that the map stays small: the axis with more cells gives first.
fn bins(n_x: usize, n_y: Option<usize>) -> [usize; 2] {
    let Some(n_y) = n_y else { return [n_x.div_ceil(MAX_POINTS), 1] };
    let mut bins = [1, 1];
    let cells = |bins: [usize; 2]| [n_x.div_ceil(bins[0]), n_y.div_ceil(bins[1])];
    while cells(bins).iter().product::<usize>() > MAX_CELLS {
        let [columns, rows] = cells(bins);
        bins[usize::from(rows > columns)] += 1;
    }
    bins
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::{best, column};
    use super::*;

    /// Every set's Sharpe ratio is made of its values: fast + slow/1000.
    fn rows(grid: &Grid) -> Vec<SweepRow> {
        let row = |i: usize| {
            let at = grid.position(i);
            let value = |axis: usize| grid.axes().get(axis).map_or(0.0, |axis_| axis_.values[at[axis]]);
            SweepRow { sharpe: Some(value(0) + value(1) / 1000.0), bars_in_market: 1, ..SweepRow::default() }
        };
        (0..grid.len()).map(row).collect()
    }

    fn map(text: &str) -> SweepMap {
        let grid = Grid::parse(text).unwrap();
        let (rows, sharpe) = (rows(&grid), column("sharpe").unwrap());
        SweepMap::new(&grid, &rows, sharpe, best(&rows, sharpe, 1)[0]).unwrap()
    }

    #[test]
    fn two_parameters_by_hand() {
        let map = map("sma-cross:fast=2..3,slow=3..5");
        let y = map.y.unwrap();
        assert_eq!((map.x.name.as_str(), y.name.as_str()), ("slow", "fast"));
        assert_eq!(
            (map.x.labels, y.labels),
            (vec!["3".into(), "4".into(), "5".into()], vec!["2".to_owned(), "3".into()])
        );
        assert_eq!(map.values, [Some(2.003), Some(2.004), Some(2.005), None, Some(3.004), Some(3.005)]);
        assert_eq!((map.best, map.held), ([2, 1], vec![]));
    }

    #[test]
    fn further_parameters_are_held_at_the_best() {
        let map = map("sma-cross:fast=2..4,slow=10..15,long_only=true|false");
        assert_eq!((map.x.name.as_str(), map.y.unwrap().name.as_str()), ("slow", "fast"));
        // true and false earn the same here: the first in the grid's order is the best.
        assert_eq!(map.held, [["long_only".to_owned(), "false".into()]]);
        assert_eq!(map.values.len(), 18);
    }

    #[test]
    fn one_parameter_is_a_line_and_large_grids_share_cells() {
        let line = map("sma-cross:fast=2..4,slow=10..10");
        assert_eq!((line.y, line.x.labels.len(), line.best), (None, 3, [2, 0]));
        assert_eq!(line.held, [["slow".to_owned(), "10".into()]]);
        let wide = map("sma-cross:fast=1..200,slow=201..500");
        let y = wide.y.unwrap();
        assert!(wide.values.len() <= MAX_CELLS && wide.values.len() > MAX_CELLS / 2, "{} cells", wide.values.len());
        assert_eq!((wide.x.labels.len(), y.labels.len(), wide.x.bin, y.bin), (100, 100, 3, 2));
        assert_eq!((wide.x.labels[0].as_str(), y.labels[99].as_str()), ("201–203", "199–200"));
        // Fast 1 and 2, slow 201 to 203: the mean of six.
        assert!((wide.values[0].unwrap() - 1.702).abs() < 1e-12);
        assert_eq!(wide.best, [99, 99]);
        assert_eq!(bins(10_000, None), [5, 1]);
    }
}
