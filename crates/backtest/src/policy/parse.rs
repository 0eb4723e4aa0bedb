//! Strategies by name: `sma-cross:fast=20,slow=50`.

use std::collections::BTreeMap;

use thiserror::Error;

use super::grid::is_grid;
use super::parameter::{Invalid, MAX_PARAMETERS, Values};
use super::strategy::AnyStrategy;
use super::{BuyAndHold, Flat, Policy, Random};

/// Every strategy with its parameters and their defaults, for help texts.
pub const STRATEGIES: [(&str, &str); 11] = [
    ("buy-and-hold", ""),
    ("flat", ""),
    ("random", "seed=0,hold=20"),
    ("sma-cross", "fast=20,slow=50,long_only=false"),
    ("ema-cross", "fast=12,slow=26,long_only=false"),
    ("rsi", "period=14,low=30,high=70,long_only=false"),
    ("donchian", "period=20,exit=10,long_only=false"),
    ("bollinger", "period=20,width=2,long_only=false"),
    ("macd", "fast=12,slow=26,signal=9,long_only=false"),
    ("momentum", "lookback=252,threshold=0,long_only=false"),
    ("vol-target", "period=60,target=0.15,cap=1,step=0.1,trend=0,long_only=false"),
];

/// Why a strategy text is not a strategy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PolicyError {
    /// No strategy has this name.
    #[error("unknown strategy `{name}`; known: {known}")]
    UnknownStrategy {
        /// The name given.
        name: String,
        /// All names.
        known: String,
    },
    /// The strategy has no such parameter.
    #[error("strategy {strategy} has no parameter `{key}`; it takes {known}")]
    UnknownParameter {
        /// The strategy.
        strategy: String,
        /// The parameter given.
        key: String,
        /// Its parameters.
        known: String,
    },
    /// A parameter is not `key=value`.
    #[error("strategy parameter `{text}` is not of the form key=value")]
    NotAPair {
        /// The text between commas.
        text: String,
    },
    /// A parameter is given twice.
    #[error("strategy parameter `{key}` is given twice")]
    Twice {
        /// The parameter.
        key: String,
    },
    /// A value does not parse or is out of range.
    #[error("strategy parameter {key}={value}: expected {rule}")]
    Value {
        /// The parameter.
        key: &'static str,
        /// The value given.
        value: String,
        /// What it must be.
        rule: &'static str,
    },
    /// Several values where one is wanted.
    #[error("strategy parameter {key}={value} is a grid; one value is wanted here")]
    Grid {
        /// The parameter.
        key: String,
        /// The values given.
        value: String,
    },
    /// A strategy that is no rule over indicators cannot take several values.
    #[error("strategy {strategy} cannot be swept, and {key}={value} is a grid")]
    NotSwept {
        /// The strategy.
        strategy: &'static str,
        /// The parameter.
        key: String,
        /// The values given.
        value: String,
    },
    /// No combination of the values is allowed.
    #[error("none of the {n_combination} combinations is allowed: {key} must be {rule}")]
    EmptyGrid {
        /// Combinations tried.
        n_combination: usize,
        /// What the last one broke.
        key: &'static str,
        /// What it must be.
        rule: &'static str,
    },
    /// More combinations than are kept in memory.
    #[error("the grid has {} combinations, at most {max} are swept at once", many(*n_combination))]
    GridTooLarge {
        /// Combinations.
        n_combination: u128,
        /// The most.
        max: usize,
    },
}

/// A number that is read exactly only while it is short.
fn many(n: u128) -> String {
    match n {
        0..1_000_000_000_000 => n.to_string(),
        u128::MAX => "more than 1e38".into(),
        _ => format!("about {:.0e}", n as f64),
    }
}

impl PolicyError {
    /// How to mend it, where the message does not already say.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Grid { key, .. } => Some(format!("write one value, as in {key}=20")),
            Self::NotSwept { .. } => Some("give one value, or sweep a rule such as sma-cross".into()),
            Self::GridTooLarge { .. } => Some("widen the step, as in 5..500:5, or sweep in parts".into()),
            _ => None,
        }
    }
}

/// Builds the strategy a text names.
///
/// # Errors
/// [`PolicyError`] naming the strategy, parameter or value that is wrong; a grid is one of them.
pub fn parse(text: &str) -> Result<Box<dyn Policy>, PolicyError> {
    let text = StrategyText::read(text)?;
    if let Some((key, value)) = text.values.iter().find(|(_, value)| is_grid(value)) {
        return Err(PolicyError::Grid { key: key.clone(), value: value.clone() });
    }
    text.policy()
}

/// A strategy's name and the texts of its parameters, defaults filled in.
#[derive(Debug, Clone)]
pub(super) struct StrategyText {
    pub(super) strategy: &'static str,
    /// In the order of [`STRATEGIES`].
    pub(super) keys: Vec<&'static str>,
    pub(super) values: BTreeMap<String, String>,
}

impl StrategyText {
    pub(super) fn read(text: &str) -> Result<Self, PolicyError> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let Some(&(strategy, defaults)) = STRATEGIES.iter().find(|(known, _)| *known == name) else {
            let known = STRATEGIES.map(|(known, _)| known).join(", ");
            return Err(PolicyError::UnknownStrategy { name: name.into(), known });
        };
        let known = pairs(defaults)?;
        let given = pairs(rest)?;
        if let Some(key) = given.keys().find(|key| !known.contains_key(*key)) {
            let known = if defaults.is_empty() { "none".into() } else { defaults.replace(',', ", ") };
            return Err(PolicyError::UnknownParameter { strategy: strategy.into(), key: key.clone(), known });
        }
        let keys = defaults.split(',').filter_map(|pair| Some(pair.split_once('=')?.0)).collect();
        Ok(Self { strategy, keys, values: known.into_iter().chain(given).collect() })
    }

    /// One policy; the values are no grids.
    pub(super) fn policy(&self) -> Result<Box<dyn Policy>, PolicyError> {
        match self.strategy {
            "buy-and-hold" => Ok(Box::new(BuyAndHold)),
            "flat" => Ok(Box::new(Flat)),
            "random" => {
                let hold = self.number("hold", "a whole number of bars, at least 1", |&n: &usize| n >= 1)?;
                Ok(Box::new(Random::new(self.number("seed", "a whole number", |_| true)?, hold)))
            }
            name => {
                let kinds = AnyStrategy::kinds(name).unwrap_or_default();
                let mut values: Values = [0.0; MAX_PARAMETERS];
                for ((key, kind), value) in self.keys.iter().zip(kinds).zip(&mut values) {
                    let text = self.text(key);
                    *value = kind.read(text).map_err(|rule| PolicyError::Value { key, value: text.into(), rule })?;
                }
                let invalid =
                    |Invalid { key, rule }| PolicyError::Value { key, value: self.text(key).to_owned(), rule };
                let unknown = || PolicyError::UnknownStrategy { name: name.into(), known: String::new() };
                Ok(AnyStrategy::build(name, &values).ok_or_else(unknown)?.map_err(invalid)?.policy())
            }
        }
    }

    pub(super) fn text(&self, key: &str) -> &str {
        self.values.get(key).map_or("", String::as_str)
    }

    fn number<T: std::str::FromStr>(
        &self,
        key: &'static str,
        rule: &'static str,
        ok: impl Fn(&T) -> bool,
    ) -> Result<T, PolicyError> {
        let value = self.text(key);
        value.parse().ok().filter(ok).ok_or_else(|| PolicyError::Value { key, value: value.into(), rule })
    }
}

fn pairs(text: &str) -> Result<BTreeMap<String, String>, PolicyError> {
    let mut out = BTreeMap::new();
    for text in text.split(',').map(str::trim).filter(|t| !t.is_empty()) {
        let (key, value) = text.split_once('=').ok_or_else(|| PolicyError::NotAPair { text: text.into() })?;
        if out.insert(key.trim().to_owned(), value.trim().to_owned()).is_some() {
            return Err(PolicyError::Twice { key: key.trim().into() });
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn fails(text: &str) -> String {
        parse(text).err().unwrap().to_string()
    }

    #[test]
    fn names_round_trip() {
        for text in [
            "buy-and-hold",
            "flat",
            "random:seed=3,hold=5",
            "sma-cross:fast=10,slow=30",
            "ema-cross:fast=10,slow=30,long_only=true",
            "rsi:period=7,low=22.5,high=80",
            "donchian:period=40,exit=20",
            "bollinger:period=20,width=2.5,long_only=true",
            "macd:fast=5,slow=35,signal=5",
            "momentum:lookback=60,threshold=0.05,long_only=true",
            "vol-target:period=30,target=0.1,cap=2,step=0.25,trend=100,long_only=true",
        ] {
            assert_eq!(parse(text).unwrap().name(), text);
        }
        assert_eq!(parse("sma-cross:slow=40").unwrap().name(), "sma-cross:fast=20,slow=40");
    }

    #[test]
    fn every_strategy_has_its_defaults() {
        for (name, defaults) in STRATEGIES {
            let full = if defaults.is_empty() { name.to_owned() } else { format!("{name}:{defaults}") };
            assert_eq!(parse(name).unwrap().name(), parse(&full).unwrap().name());
            let n_kind = AnyStrategy::kinds(name).map_or(defaults.split(',').count(), <[_]>::len);
            assert_eq!(n_kind, defaults.split(',').count(), "{name}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(
            fails("sma"),
            "unknown strategy `sma`; known: buy-and-hold, flat, random, sma-cross, ema-cross, rsi, donchian, bollinger, \
             macd, momentum, vol-target"
        );
        assert_eq!(
            fails("sma-cross:quick=3"),
            "strategy sma-cross has no parameter `quick`; it takes fast=20, slow=50, long_only=false"
        );
        assert_eq!(
            fails("sma-cross:fast=60"),
            "strategy parameter slow=50: expected a whole number of bars above `fast`"
        );
        assert_eq!(fails("random:seed"), "strategy parameter `seed` is not of the form key=value");
        assert_eq!(fails("random:seed=1,seed=2"), "strategy parameter `seed` is given twice");
        assert_eq!(
            fails("rsi:period=1"),
            "strategy parameter period=1: expected a whole number of bars, 2 to 2147483647"
        );
        assert_eq!(fails("rsi:low=-3"), "strategy parameter low=-3: expected a number from 0 to 100");
        assert_eq!(fails("rsi:low=70"), "strategy parameter high=70: expected a number above `low`, at most 100");
        assert_eq!(
            fails("donchian:exit=2.5"),
            "strategy parameter exit=2.5: expected a whole number of bars, 1 to 2147483647"
        );
        assert_eq!(
            fails("bollinger:width=nan"),
            "strategy parameter width=nan: expected a number above 0, at most 1000000"
        );
        assert_eq!(fails("macd:fast=26"), "strategy parameter slow=26: expected a whole number of bars above `fast`");
        assert_eq!(
            fails("momentum:threshold=-1"),
            "strategy parameter threshold=-1: expected a return from 0 to 1000, as a fraction"
        );
        assert_eq!(fails("vol-target:step=2"), "strategy parameter step=2: expected a number above 0, at most `cap`");
        assert_eq!(fails("ema-cross:long_only=yes"), "strategy parameter long_only=yes: expected true or false");
    }

    #[test]
    fn a_single_run_refuses_a_grid() {
        let error = parse("sma-cross:fast=5..50").err().unwrap();
        assert_eq!(error.to_string(), "strategy parameter fast=5..50 is a grid; one value is wanted here");
        assert_eq!(error.hint().unwrap(), "write one value, as in fast=20");
        assert!(fails("random:seed=1|2").contains("is a grid"));
    }
}
