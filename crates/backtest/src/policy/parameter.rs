//! What a parameter of a rule strategy may be.

/// Parameters of a strategy at most.
pub(super) const MAX_PARAMETERS: usize = 6;

/// Parameter values in the order of the strategy's row in [`STRATEGIES`](super::STRATEGIES); true is 1.
pub type Values = [f64; MAX_PARAMETERS];

/// What one parameter may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A whole number of bars, at least `min`.
    Bars {
        /// The least.
        min: u32,
    },
    /// A number from `min` to `max`.
    Number {
        /// The least.
        min: f64,
        /// The most.
        max: f64,
        /// Both in words.
        rule: &'static str,
    },
    /// true or false.
    Flag,
}

/// Lengths at most; a device counts bars with 32 bits.
const MAX_BARS: f64 = 2_147_483_647.0;

impl Kind {
    /// The value a text stands for, or what it must be.
    pub(super) fn read(&self, text: &str) -> Result<f64, &'static str> {
        match self {
            Self::Flag => text.parse().map(|flag: bool| f64::from(u8::from(flag))).map_err(|_| self.rule()),
            _ => text.parse().ok().filter(|value| self.allows(*value)).ok_or(self.rule()),
        }
    }

    /// Whether a number is one of its values.
    pub(super) fn allows(&self, value: f64) -> bool {
        match *self {
            Self::Bars { min } => value.fract() == 0.0 && (f64::from(min)..=MAX_BARS).contains(&value),
            Self::Number { min, max, .. } => (min..=max).contains(&value),
            Self::Flag => value == 0.0 || value == 1.0,
        }
    }

    /// What a value must be, in words.
    pub(super) fn rule(&self) -> &'static str {
        match self {
            Self::Bars { min: 0 } => "a whole number of bars, 0 to 2147483647",
            Self::Bars { min: 1 } => "a whole number of bars, 1 to 2147483647",
            Self::Bars { .. } => "a whole number of bars, 2 to 2147483647",
            Self::Number { rule, .. } => rule,
            Self::Flag => "true or false",
        }
    }

    /// A value as it is written.
    pub(super) fn label(&self, value: f64) -> String {
        match self {
            Self::Flag => (value != 0.0).to_string(),
            _ => value.to_string(),
        }
    }
}

/// Values that are fine by themselves and contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Invalid {
    /// The parameter to change.
    pub key: &'static str,
    /// What it must be.
    pub rule: &'static str,
}
