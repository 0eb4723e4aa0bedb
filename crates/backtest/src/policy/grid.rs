//! Grids of a strategy's parameters: `sma-cross:fast=5..50,slow=20..400:10,long_only=true|false`.

use super::Policy;
use super::parameter::{Invalid, Kind, MAX_PARAMETERS, Values};
use super::parse::{PolicyError, StrategyText};
use super::strategy::AnyStrategy;

/// Combinations of a grid at most, the disallowed ones included.
pub const MAX_SETS: usize = 10_000_000;

/// A parameter that takes several values.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The parameter.
    pub name: &'static str,
    /// Its values, ascending; true is 1.
    pub values: Vec<f64>,
    /// The values as they are written.
    pub labels: Vec<String>,
}

/// A strategy and every allowed combination of its parameters' values, in order: the last parameter varies fastest.
///
/// A value is one (`20`), a range with both ends in it (`5..50`, step 1; `5..50:5`; `1.5..3:0.5`) or a list of either
/// (`5|10|20`, `5|10|20..40:5`).
#[derive(Debug, Clone)]
pub struct Grid {
    text: StrategyText,
    /// Every parameter of a rule strategy; none of another.
    kinds: &'static [Kind],
    /// `[n_parameter][n_value]`
    values: Vec<Vec<f64>>,
    axes: Vec<Axis>,
    /// Parameters that are axes.
    swept: Vec<usize>,
    /// Allowed combinations, as mixed-radix numbers over `values`.
    sets: Vec<u32>,
    n_skipped: usize,
}

impl Grid {
    /// Reads a strategy text whose values may be grids. A text without any is a grid of one set.
    ///
    /// # Errors
    /// [`PolicyError`]: as [`parse`](super::parse()), a grid too large or without any allowed combination, or one of a
    /// strategy that is no rule over indicators.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        let text = StrategyText::read(text)?;
        let Some(kinds) = AnyStrategy::kinds(text.strategy) else { return Self::of_one(text) };
        let (mut values, mut axes, mut swept) = (Vec::new(), Vec::new(), Vec::new());
        let mut n_combination = 1_u128;
        for (i, (&name, kind)) in text.keys.iter().zip(kinds).enumerate() {
            let written = text.text(name);
            let own = match expand(name, kind, written) {
                // The others are counted all the same.
                Err(PolicyError::GridTooLarge { n_combination: n, .. }) => {
                    n_combination = n_combination.saturating_mul(n);
                    continue;
                }
                own => own?,
            };
            n_combination = n_combination.saturating_mul(own.len() as u128);
            if is_grid(written) {
                let labels = own.iter().map(|&value| kind.label(value)).collect();
                axes.push(Axis { name, values: own.clone(), labels });
                swept.push(i);
            }
            values.push(own);
        }
        if n_combination > MAX_SETS as u128 {
            return Err(PolicyError::GridTooLarge { n_combination, max: MAX_SETS });
        }
        let mut grid = Self { text, kinds, values, axes, swept, sets: Vec::new(), n_skipped: 0 };
        grid.fill(n_combination as u32)?;
        Ok(grid)
    }

    /// Of a strategy that is no rule over indicators.
    fn of_one(text: StrategyText) -> Result<Self, PolicyError> {
        if let Some((key, value)) = text.values.iter().find(|(_, value)| is_grid(value)) {
            return Err(PolicyError::NotSwept { strategy: text.strategy, key: key.clone(), value: value.clone() });
        }
        text.policy()?;
        let (values, axes, swept) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { text, kinds: &[], values, axes, swept, sets: vec![0], n_skipped: 0 })
    }

    /// Builds each of the combinations, and keeps those that are allowed.
    fn fill(&mut self, n_combination: u32) -> Result<(), PolicyError> {
        let mut broken = None;
        for code in 0..n_combination {
            match self.build(code) {
                Some(Err(invalid)) => broken = Some((code, invalid)),
                _ => self.sets.push(code),
            }
        }
        self.n_skipped = n_combination as usize - self.sets.len();
        match broken {
            Some((code, Invalid { key, rule })) if self.sets.is_empty() => Err(if self.axes.is_empty() {
                let value = self.label(code, key);
                PolicyError::Value { key, value, rule }
            } else {
                PolicyError::EmptyGrid { n_combination: n_combination as usize, key, rule }
            }),
            _ => Ok(()),
        }
    }

    /// The strategy's name.
    pub fn strategy(&self) -> &'static str {
        self.text.strategy
    }

    /// The parameters that take several values, in the order of the strategy's parameters.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Every parameter of the strategy, swept or not; none where it is no rule over indicators.
    pub fn parameters(&self) -> &[&'static str] {
        if self.kinds.is_empty() { &[] } else { &self.text.keys }
    }

    /// Set `i`'s values of all [`Self::parameters`], as they are written. `[n_parameter]`
    ///
    /// # Panics
    /// When `i` is not below [`Self::len`].
    pub fn labels(&self, i: usize) -> Vec<String> {
        self.parameters().iter().map(|key| self.label(self.sets[i], key)).collect()
    }

    /// Allowed parameter sets.
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    /// Never: a grid has at least one set.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Combinations left out because the strategy does not allow them, such as fast ≥ slow.
    pub fn n_skipped(&self) -> usize {
        self.n_skipped
    }

    /// Whether the text was no grid: [`parse`](super::parse()) reads it too.
    pub fn is_single(&self) -> bool {
        self.axes.is_empty()
    }

    /// Name of set `i`, as [`parse`](super::parse()) reads it.
    ///
    /// # Panics
    /// When `i` is not below [`Self::len`].
    pub fn name(&self, i: usize) -> String {
        self.strategy_of(i).map_or_else(|| self.policy(i).name(), |strategy| strategy.name())
    }

    /// Where set `i` lies on each axis: indices into [`Axis::values`]. `[n_axis]`
    ///
    /// # Panics
    /// When `i` is not below [`Self::len`].
    pub fn position(&self, i: usize) -> Vec<usize> {
        let digits = self.digits(self.sets[i]);
        self.swept.iter().map(|&parameter| digits[parameter]).collect()
    }

    /// Set `i` as a rule strategy; `None` for a strategy that is no rule over indicators.
    ///
    /// # Panics
    /// When `i` is not below [`Self::len`].
    pub fn strategy_of(&self, i: usize) -> Option<AnyStrategy> {
        self.build(self.sets[i])?.ok()
    }

    /// Set `i` as a policy.
    ///
    /// # Panics
    /// When `i` is not below [`Self::len`].
    pub fn policy(&self, i: usize) -> Box<dyn Policy> {
        match self.strategy_of(i) {
            Some(strategy) => strategy.policy(),
            // `of_one` has parsed it before.
            None => self.text.policy().unwrap_or(Box::new(super::Flat)),
        }
    }

    fn build(&self, code: u32) -> Option<Result<AnyStrategy, Invalid>> {
        let mut values: Values = [0.0; MAX_PARAMETERS];
        for ((value, own), digit) in values.iter_mut().zip(&self.values).zip(self.digits(code)) {
            *value = own[digit];
        }
        AnyStrategy::build(self.text.strategy, &values)
    }

    fn label(&self, code: u32, key: &str) -> String {
        let parameter = self.text.keys.iter().position(|name| *name == key).unwrap_or(0);
        self.kinds[parameter].label(self.values[parameter][self.digits(code)[parameter]])
    }

    fn digits(&self, code: u32) -> [usize; MAX_PARAMETERS] {
        let mut digits = [0; MAX_PARAMETERS];
        let mut rest = code as usize;
        for (digit, own) in digits.iter_mut().zip(&self.values).rev() {
            *digit = rest % own.len();
            rest /= own.len();
        }
        digits
    }
}

/// Whether a value text names several values.
pub(super) fn is_grid(text: &str) -> bool {
    text.contains("..") || text.contains('|')
}

/// The values of a text, ascending, each once. One that holds too many is told by how many they are.
fn expand(key: &'static str, kind: &Kind, text: &str) -> Result<Vec<f64>, PolicyError> {
    let wrong = |rule: &'static str| PolicyError::Value { key, value: text.to_owned(), rule };
    let (mut values, mut n_value) = (Vec::new(), 0_u128);
    for part in text.split('|') {
        let Some((from, rest)) = part.split_once("..") else {
            values.push(kind.read(part.trim()).map_err(wrong)?);
            n_value = n_value.saturating_add(1);
            continue;
        };
        let (from, step, n) = range(kind, from, rest).map_err(wrong)?;
        n_value = n_value.saturating_add(n);
        if n_value <= MAX_SETS as u128 {
            let own = (0..n as usize).map(|i| decimal(from + i as f64 * step));
            if !own.clone().all(|value| kind.allows(value)) {
                return Err(wrong(kind.rule()));
            }
            values.extend(own);
        }
    }
    if n_value > MAX_SETS as u128 {
        return Err(PolicyError::GridTooLarge { n_combination: n_value, max: MAX_SETS });
    }
    values.sort_by(f64::total_cmp);
    values.dedup();
    Ok(values)
}

/// First value, step and number of values of the range `from..rest`; or what would be one.
fn range(kind: &Kind, from: &str, rest: &str) -> Result<(f64, f64, u128), &'static str> {
    // Three dots would read as a number that begins with one.
    if rest.starts_with('.') {
        return Err("a range with two dots, like 5..50");
    }
    let (to, step) = rest.split_once(':').unwrap_or((rest, "1"));
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|x| x.is_finite());
    let (Some(from), Some(to), Some(step)) = (number(from), number(to), number(step)) else {
        return Err("a range like 5..50 or 5..50:5");
    };
    if *kind == Kind::Flag {
        return Err("true, false or true|false");
    }
    if step <= 0.0 || to < from {
        return Err("a range that rises, with a step above 0");
    }
    Ok((from, step, (((to - from) / step + 1e-9).floor() + 1.0) as u128))
}

/// Without the rounding of the sum: 0.1 + 2·0.1 is 0.3.
fn decimal(x: f64) -> f64 {
    format!("{x:.10}").parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let grid = Grid::parse(text).unwrap();
        (0..grid.len()).map(|i| grid.name(i)).collect()
    }

    #[test]
    fn ranges_and_lists_by_hand() {
        assert_eq!(
            names("sma-cross:fast=2..3,slow=3..5"),
            [(2, 3), (2, 4), (2, 5), (3, 4), (3, 5)].map(|(f, s)| format!("sma-cross:fast={f},slow={s}"))
        );
        assert_eq!(
            names("donchian:period=40|20,exit=5..12:5"),
            [(20, 5), (20, 10), (40, 5), (40, 10)].map(|(p, e)| format!("donchian:period={p},exit={e}"))
        );
        assert_eq!(
            names("bollinger:width=0.1..0.5:0.1"),
            [0.1, 0.2, 0.3, 0.4, 0.5].map(|w| format!("bollinger:period=20,width={w}"))
        );
        assert_eq!(
            names("sma-cross:fast=20..40:10|5|7..8|8,slow=50"),
            [5, 7, 8, 20, 30, 40].map(|fast| format!("sma-cross:fast={fast},slow=50"))
        );
        assert_eq!(
            names("rsi:long_only=true|false"),
            ["rsi:period=14,low=30,high=70", "rsi:period=14,low=30,high=70,long_only=true"]
        );
    }

    #[test]
    fn axes_positions_and_skipped_sets() {
        let grid = Grid::parse("sma-cross:fast=5..50,slow=20..400").unwrap();
        assert_eq!((grid.strategy(), grid.is_single()), ("sma-cross", false));
        let axes: Vec<_> = grid.axes().iter().map(|axis| (axis.name, axis.values.len())).collect();
        assert_eq!(axes, [("fast", 46), ("slow", 381)]);
        assert_eq!(grid.axes()[0].labels[3], "8");
        // Slow 20..fast is no set for fast 20 to 50.
        assert_eq!(grid.n_skipped(), (1..=31).sum::<usize>());
        assert_eq!(grid.len() + grid.n_skipped(), 46 * 381);
        for i in [0, 1, 7_777, grid.len() - 1] {
            let at = grid.position(i);
            let (fast, slow) = (&grid.axes()[0].labels[at[0]], &grid.axes()[1].labels[at[1]]);
            assert_eq!(grid.name(i), format!("sma-cross:fast={fast},slow={slow}"));
            assert_eq!(grid.policy(i).name(), grid.name(i));
        }
    }

    #[test]
    fn one_value_is_one_set() {
        for text in ["flat", "random:seed=3,hold=5", "ema-cross:fast=10,slow=30"] {
            let grid = Grid::parse(text).unwrap();
            assert!(grid.is_single());
            assert_eq!((grid.len(), grid.name(0).as_str()), (1, text));
            assert_eq!(grid.strategy_of(0).is_some(), text.starts_with("ema"));
        }
        let grid = Grid::parse("sma-cross:fast=7..7").unwrap();
        assert_eq!((grid.is_single(), grid.len(), grid.axes().len()), (false, 1, 1));
    }

    #[test]
    fn mistakes_are_named() {
        let fails = |text: &str| Grid::parse(text).unwrap_err().to_string();
        assert_eq!(fails("random:seed=1..5"), "strategy random cannot be swept, and seed=1..5 is a grid");
        assert_eq!(
            fails("sma-cross:fast=30..60,slow=10..30"),
            "none of the 651 combinations is allowed: slow must be a whole number of bars above `fast`"
        );
        assert_eq!(
            fails("sma-cross:fast=60"),
            "strategy parameter slow=50: expected a whole number of bars above `fast`"
        );
        assert_eq!(
            fails("sma-cross:fast=1..10000,slow=1..10000"),
            "the grid has 100000000 combinations, at most 10000000 are swept at once"
        );
        assert_eq!(
            fails("sma-cross:fast=1..1e300"),
            "the grid has more than 1e38 combinations, at most 10000000 are swept at once"
        );
        // One parameter's values alone are too many; all are counted.
        assert_eq!(
            fails("sma-cross:fast=1..99999999,slow=2..99999999"),
            "the grid has about 1e16 combinations, at most 10000000 are swept at once"
        );
        assert_eq!(
            fails("sma-cross:fast=1..20000000,slow=30|40"),
            "the grid has 40000000 combinations, at most 10000000 are swept at once"
        );
        assert_eq!(
            fails("sma-cross:fast=1..6000000|7000000..14000000,slow=50"),
            "the grid has 13000001 combinations, at most 10000000 are swept at once"
        );
        assert_eq!(
            fails("sma-cross:fast=1..1e300,slow=x"),
            "strategy parameter slow=x: expected a whole number of bars, 1 to 2147483647"
        );
        assert_eq!(
            fails("rsi:low=30..10"),
            "strategy parameter low=30..10: expected a range that rises, with a step above 0"
        );
        assert_eq!(
            fails("rsi:low=10..30:0"),
            "strategy parameter low=10..30:0: expected a range that rises, with a step above 0"
        );
        assert_eq!(fails("rsi:low=a..30"), "strategy parameter low=a..30: expected a range like 5..50 or 5..50:5");
        assert_eq!(
            fails("sma-cross:fast=5...10"),
            "strategy parameter fast=5...10: expected a range with two dots, like 5..50"
        );
        assert_eq!(fails("rsi:low=90..110:5"), "strategy parameter low=90..110:5: expected a number from 0 to 100");
        assert_eq!(
            fails("rsi:period=2..5:0.5"),
            "strategy parameter period=2..5:0.5: expected a whole number of bars, 2 to 2147483647"
        );
        assert_eq!(
            fails("rsi:period=3||5"),
            "strategy parameter period=3||5: expected a whole number of bars, 2 to 2147483647"
        );
        assert_eq!(
            fails("rsi:period=3|9..5"),
            "strategy parameter period=3|9..5: expected a range that rises, with a step above 0"
        );
        assert_eq!(
            fails("rsi:long_only=0..1"),
            "strategy parameter long_only=0..1: expected true, false or true|false"
        );
    }
}
