//! Strategies by name: `sma-cross:fast=20,slow=50`.

use std::collections::BTreeMap;

use thiserror::Error;

use super::{BuyAndHold, Flat, Policy, Random, SmaCross};

/// Every strategy with its parameters and their defaults, for help texts.
pub const STRATEGIES: [(&str, &str); 4] = [
    ("buy-and-hold", ""),
    ("flat", ""),
    ("random", "seed=0,hold=20"),
    ("sma-cross", "fast=20,slow=50,long_only=false"),
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
}

/// Builds the strategy a text names.
///
/// # Errors
/// [`PolicyError`] naming the strategy, parameter or value that is wrong.
pub fn parse(text: &str) -> Result<Box<dyn Policy>, PolicyError> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let Some(&(name, defaults)) = STRATEGIES.iter().find(|(known, _)| *known == name) else {
        let known = STRATEGIES.map(|(known, _)| known).join(", ");
        return Err(PolicyError::UnknownStrategy { name: name.into(), known });
    };
    let parameters = Parameters::read(name, defaults, rest)?;
    match name {
        "buy-and-hold" => Ok(Box::new(BuyAndHold)),
        "flat" => Ok(Box::new(Flat)),
        "random" => {
            let hold = parameters.number("hold", "a whole number of bars, at least 1", |&n: &usize| n >= 1)?;
            Ok(Box::new(Random::new(parameters.number("seed", "a whole number", |_| true)?, hold)))
        }
        _ => {
            let bars = "a whole number of bars, at least 1";
            let fast: usize = parameters.number("fast", bars, |&n| n >= 1)?;
            let slow = parameters.number("slow", "a whole number of bars above `fast`", |&n| n > fast)?;
            let long_only = parameters.number("long_only", "true or false", |_| true)?;
            Ok(Box::new(SmaCross::new(fast, slow, long_only)))
        }
    }
}

/// Values by name, defaults filled in.
struct Parameters(BTreeMap<String, String>);

impl Parameters {
    fn read(strategy: &str, defaults: &str, text: &str) -> Result<Self, PolicyError> {
        let known = Self::pairs(defaults)?;
        let given = Self::pairs(text)?;
        if let Some(key) = given.keys().find(|key| !known.contains_key(*key)) {
            let known = if defaults.is_empty() { "none".into() } else { defaults.replace(',', ", ") };
            return Err(PolicyError::UnknownParameter { strategy: strategy.into(), key: key.clone(), known });
        }
        Ok(Self(known.into_iter().chain(given).collect()))
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

    fn number<T: std::str::FromStr>(
        &self,
        key: &'static str,
        rule: &'static str,
        ok: impl Fn(&T) -> bool,
    ) -> Result<T, PolicyError> {
        let value = self.0.get(key).cloned().unwrap_or_default();
        value.parse().ok().filter(ok).ok_or(PolicyError::Value { key, value, rule })
    }
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
        for text in ["buy-and-hold", "flat", "random:seed=3,hold=5", "sma-cross:fast=10,slow=30"] {
            assert_eq!(parse(text).unwrap().name(), text);
        }
        assert_eq!(parse("sma-cross:slow=40").unwrap().name(), "sma-cross:fast=20,slow=40");
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(fails("sma"), "unknown strategy `sma`; known: buy-and-hold, flat, random, sma-cross");
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
    }
}
