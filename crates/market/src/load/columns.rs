//! Which column is which: header names and their synonyms, and the `columns` option.

/// What a column means to a bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Date and time, or a date alone.
    Time,
    /// Time of day beside a date.
    Clock,
    /// First price.
    Open,
    /// Highest price.
    High,
    /// Lowest price.
    Low,
    /// Last price.
    Close,
    /// Traded units.
    Volume,
    /// Instrument name.
    Symbol,
}

/// Column indices per role.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Roles {
    pub(crate) time: Option<usize>,
    pub(crate) clock: Option<usize>,
    /// Whether the time of day is a whole number of hours.
    pub(crate) hours: bool,
    /// open, high, low, close
    pub(crate) price: [Option<usize>; 4],
    /// Best candidate first.
    pub(crate) volumes: Vec<usize>,
    pub(crate) adj_close: Option<usize>,
    pub(crate) symbol: Option<usize>,
}

/// Names of the four prices.
pub(crate) const PRICES: [&str; 4] = ["open", "high", "low", "close"];

const TIME: [&str; 32] = [
    "timestamp utc",
    "unix",
    "unix timestamp",
    "open time",
    "opentime",
    "window start",
    "time period start",
    "ts event",
    "ts",
    "timestamp",
    "datetime",
    "date time",
    "gmt time",
    "utc time",
    "local time",
    "time utc",
    "date utc",
    "time gmt",
    "begins at",
    "snapped at",
    "observation date",
    "start time",
    "start",
    "date",
    "dtyyyymmdd",
    "time",
    "day",
    "t",
    "index",
    "datum",
    "fecha",
    "data",
];
const OPEN: [&str; 14] = [
    "eröffnung",
    "eroeffnung",
    "ouverture",
    "eröffn",
    "apertura",
    "otwarcie",
    "open",
    "o",
    "open price",
    "opening price",
    "price open",
    "bid open",
    "bidopen",
    "first",
];
const HIGH: [&str; 13] = [
    "hoch",
    "najwyższy",
    "plus haut",
    "máximo",
    "najwyzszy",
    "high",
    "h",
    "high price",
    "highest price",
    "price high",
    "bid high",
    "bidhigh",
    "max",
];
const LOW: [&str; 13] = [
    "najniższy",
    "plus bas",
    "tief",
    "mínimo",
    "najnizszy",
    "low",
    "l",
    "low price",
    "lowest price",
    "price low",
    "bid low",
    "bidlow",
    "min",
];
const CLOSE: [&str; 22] = [
    "schluss",
    "kurs",
    "zamknięcie",
    "clôture",
    "cloture",
    "schlusskurs",
    "zuletzt",
    "cierre",
    "último",
    "zamkniecie",
    "close",
    "c",
    "close price",
    "closing price",
    "price close",
    "bid close",
    "bidclose",
    "close last",
    "last",
    "last price",
    "price",
    "settle",
];
const VOLUME: [&str; 18] = [
    "volumen",
    "wolumen",
    "real volume",
    "volume",
    "vol",
    "v",
    "volume base",
    "base volume",
    "volume traded",
    "tick volume",
    "tickvol",
    "tickvolume",
    "total volume",
    "total ticks",
    "total traded quantity",
    "traded quantity",
    "shares traded",
    "no of shares",
];
const SYMBOL: [&str; 9] = ["symbol", "ticker", "tic", "sym", "instrument", "pair", "asset", "code", "name"];
const ADJ_CLOSE: [&str; 5] = ["adj close", "adjusted close", "adjclose", "close adj", "close adjusted"];
/// Words after "volume" that make it a statistic, not a volume.
const STATISTIC: [&str; 10] = ["ma", "sma", "ema", "avg", "mean", "std", "delta", "ratio", "change", "osc"];

/// Lower case, without `<>`, quotes, units in parentheses, `1.`-like numbering; separators become one space.
pub(crate) fn normalise(name: &str) -> String {
    let lower = name.trim().trim_matches(['<', '>', '"', '\'', '#', '*']).to_lowercase();
    let spaced: String =
        lower.chars().map(|c| if matches!(c, '_' | '-' | '/' | '(' | ')' | '.') { ' ' } else { c }).collect();
    let mut words: Vec<&str> = spaced.split_whitespace().collect();
    if words.len() > 1 && words[0].bytes().all(|b| b.is_ascii_digit()) {
        words.remove(0);
    }
    words.join(" ")
}

/// Roles by header name. `symbol_value`, a cell of the symbol column, tells the base currency's volume from the
/// quote's.
pub(crate) fn by_name(names: &[String], symbol_value: impl Fn(usize) -> Option<String>) -> Roles {
    let plain: Vec<String> = names.iter().map(|name| normalise(name)).collect();
    let find = |synonyms: &[&str]| synonyms.iter().find_map(|s| plain.iter().position(|name| name == s));
    let mut roles = Roles {
        time: find(&TIME),
        clock: None,
        hours: false,
        price: [find(&OPEN), find(&HIGH), find(&LOW), find(&CLOSE)],
        volumes: VOLUME.iter().filter_map(|s| plain.iter().position(|name| name == s)).collect(),
        adj_close: find(&ADJ_CLOSE),
        symbol: find(&SYMBOL),
    };
    let position = |wanted: &str| plain.iter().position(|name| name == wanted);
    let date = position("date").or_else(|| position("dtyyyymmdd"));
    if let (Some(date), Some(time)) = (date, position("time"))
        && roles.time == Some(date)
    {
        roles.clock = Some(time);
    }
    if roles.time.is_none() && plain.first().is_some_and(|n| n.is_empty() || n == "unnamed: 0") {
        roles.time = Some(0);
    }
    roles.volumes.extend(currency_volumes(&plain));
    prefer_base_volume(&mut roles, &plain, symbol_value);
    roles
}

/// What is said of columns that could be a price, or the stamp, as well as the one taken.
pub(crate) fn rivals(names: &[String], roles: &Roles) -> Vec<String> {
    let plain: Vec<String> = names.iter().map(|name| normalise(name)).collect();
    let taken = [roles.time, roles.price[0], roles.price[1], roles.price[2], roles.price[3]];
    let means = [TIME.as_slice(), &OPEN, &HIGH, &LOW, &CLOSE];
    let note = |(what, (taken, synonyms)): (&str, (Option<usize>, &[&str]))| {
        let taken = taken?;
        let other = (0..names.len()).find(|&i| !roles.uses(i) && synonyms.contains(&plain[i].as_str()))?;
        // Chosen by hand, or found otherwise.
        synonyms.contains(&plain[taken].as_str()).then(|| {
            let number =
                |i: usize| if names[taken] == names[other] { format!(" (column {})", i + 1) } else { String::new() };
            format!("{what} is {}{}; {}{} is left aside", names[taken], number(taken), names[other], number(other))
        })
    };
    ["time", "open", "high", "low", "close"].into_iter().zip(taken.into_iter().zip(means)).filter_map(note).collect()
}

/// `Volume BTC`, `volume_usdt`.
fn currency_volumes(plain: &[String]) -> impl Iterator<Item = usize> {
    plain.iter().enumerate().filter_map(|(i, name)| {
        let currency = name.strip_prefix("volume ")?;
        let short = (2..=6).contains(&currency.len()) && currency.bytes().all(|b| b.is_ascii_alphanumeric());
        let known = STATISTIC.contains(&currency) || VOLUME.contains(&name.as_str());
        (short && !known).then_some(i)
    })
}

/// Puts `volume_btc` before `volume` when the symbol column says BTCUSD.
fn prefer_base_volume(roles: &mut Roles, plain: &[String], symbol_value: impl Fn(usize) -> Option<String>) {
    let Some(symbol) = roles.symbol.and_then(symbol_value) else { return };
    let symbol = symbol.to_lowercase();
    let is_base =
        |&i: &usize| plain[i].strip_prefix("volume ").is_some_and(|c| symbol.starts_with(c) && symbol.len() > c.len());
    if let Some(at) = roles.volumes.iter().position(is_base) {
        let base = roles.volumes.remove(at);
        roles.volumes.insert(0, base);
    }
}

impl Roles {
    /// Whether there is a time and any price: enough to call a line a header.
    pub(crate) fn looks_like_header(&self) -> bool {
        self.time.is_some() && self.price.iter().any(Option::is_some)
    }

    /// Roles a bar needs that have no column. A close without open, high and low is a series of closes, and complete.
    pub(crate) fn missing(&self) -> Vec<String> {
        let mut out = Vec::new();
        if self.time.is_none() {
            out.push("time".to_owned());
        }
        if !self.close_only() {
            out.extend(
                PRICES.iter().zip(self.price).filter(|(_, at)| at.is_none()).map(|(name, _)| (*name).to_owned()),
            );
        }
        out
    }

    /// Whether close is the only price.
    pub(crate) fn close_only(&self) -> bool {
        self.price[..3].iter().all(Option::is_none) && self.price[3].is_some()
    }

    /// Assigns a column; the last assignment of a role wins.
    pub(crate) fn assign(&mut self, role: Role, column: usize) {
        match role {
            Role::Time => self.time = Some(column),
            Role::Clock => self.clock = Some(column),
            Role::Open => self.price[0] = Some(column),
            Role::High => self.price[1] = Some(column),
            Role::Low => self.price[2] = Some(column),
            Role::Close => self.price[3] = Some(column),
            Role::Volume => self.volumes = vec![column],
            Role::Symbol => self.symbol = Some(column),
        }
    }

    /// Makes room for a column the header forgot.
    pub(crate) fn shift_from(&mut self, from: usize) {
        let shift = |column: &mut usize| *column += usize::from(*column >= from);
        self.price.iter_mut().flatten().for_each(shift);
        self.volumes.iter_mut().for_each(shift);
        [&mut self.time, &mut self.clock, &mut self.adj_close, &mut self.symbol].into_iter().flatten().for_each(shift);
    }

    /// Whether a column means anything.
    pub(crate) fn uses(&self, column: usize) -> bool {
        let single = [self.time, self.clock, self.symbol, self.adj_close];
        single.contains(&Some(column)) || self.price.contains(&Some(column)) || self.volumes.contains(&column)
    }

    /// The highest column used.
    pub(crate) fn last(&self) -> usize {
        let single = [self.time, self.clock, self.symbol];
        single.into_iter().chain(self.price).flatten().chain(self.volumes.iter().copied()).max().unwrap_or(0)
    }
}

/// The parsed `columns` option.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Choice {
    /// A role (or none) per column, in file order.
    Positions(Vec<Option<Role>>),
    /// A role and the header it is found under.
    Names(Vec<(Role, String)>),
}

/// Reads `ts,open,-,close` or `close=Adj Close,volume=Volume USD`.
pub(crate) fn parse_choice(text: &str) -> Result<Choice, String> {
    let role = |word: &str| match normalise(word).as_str() {
        "ts" | "timestamp" | "datetime" | "date" => Ok(Some(Role::Time)),
        "time" => Ok(Some(Role::Clock)),
        "open" => Ok(Some(Role::Open)),
        "high" => Ok(Some(Role::High)),
        "low" => Ok(Some(Role::Low)),
        "close" => Ok(Some(Role::Close)),
        "volume" => Ok(Some(Role::Volume)),
        "symbol" => Ok(Some(Role::Symbol)),
        "" if word.trim() == "-" || word.trim() == "_" => Ok(None),
        _ => Err(format!("{:?} is no column", word.trim())),
    };
    if !text.contains('=') {
        let mut roles = text.split(',').map(role).collect::<Result<Vec<_>, _>>()?;
        if !roles.contains(&Some(Role::Time)) {
            // A lone "time" is the stamp; beside a date it is the time of day.
            roles.iter_mut().filter(|r| **r == Some(Role::Clock)).for_each(|r| *r = Some(Role::Time));
        }
        return unique(&roles).map(|()| Choice::Positions(roles));
    }
    let mut pairs = Vec::new();
    for part in text.split(',') {
        let (left, name) = part.split_once('=').ok_or_else(|| format!("{part:?} lacks a ="))?;
        let found = role(left)?.ok_or("- cannot be named")?;
        let found = if found == Role::Clock && !text.contains("date=") { Role::Time } else { found };
        pairs.push((found, name.trim().to_owned()));
    }
    Ok(Choice::Names(pairs))
}

fn unique(roles: &[Option<Role>]) -> Result<(), String> {
    let named: Vec<Role> = roles.iter().copied().flatten().collect();
    match named.iter().enumerate().find(|(i, role)| named[..*i].contains(role)) {
        Some((_, role)) => Err(format!("{} is named twice", format!("{role:?}").to_lowercase())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn roles(header: &str) -> Roles {
        let names: Vec<String> = header.split(',').map(str::to_owned).collect();
        by_name(&names, |_| Some("BTC/USD".to_owned()))
    }

    #[test]
    fn vendors_headers() {
        let metatrader = roles("<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<TICKVOL>,<VOL>,<SPREAD>");
        assert_eq!((metatrader.time, metatrader.clock, metatrader.volumes), (Some(0), Some(1), vec![7, 6]));
        let alpha = roles("timestamp,1. open,2. high,3. low,4. close,5. adjusted close,6. volume");
        assert_eq!(
            (alpha.price, alpha.adj_close, alpha.volumes),
            ([Some(1), Some(2), Some(3), Some(4)], Some(5), vec![6])
        );
        let download = roles("unix,date,symbol,open,high,low,close,Volume USD,Volume BTC");
        assert_eq!((download.time, download.clock, download.volumes), (Some(0), None, vec![8, 7]));
        let view = roles("time,open,high,low,close,Volume,Volume MA,SR_10");
        assert_eq!((view.time, view.volumes), (Some(0), vec![5]));
        assert_eq!(roles(",Open,High,Low,Close").time, Some(0));
        assert!(roles("Date,Price").close_only());
        assert_eq!(roles("Date,Open,Close").missing(), ["high", "low"]);
    }

    #[test]
    fn the_option_names_columns_by_position_or_header() {
        use Role::{Clock, Close, Open, Time};
        assert_eq!(
            parse_choice("ts,open,-,close").unwrap(),
            Choice::Positions(vec![Some(Time), Some(Open), None, Some(Close)])
        );
        assert_eq!(
            parse_choice("date,time,close").unwrap(),
            Choice::Positions(vec![Some(Time), Some(Clock), Some(Close)])
        );
        assert_eq!(parse_choice("close=Adj Close").unwrap(), Choice::Names(vec![(Close, "Adj Close".into())]));
        assert_eq!(parse_choice("ts,opne").unwrap_err(), "\"opne\" is no column");
        assert_eq!(parse_choice("ts,open,open").unwrap_err(), "open is named twice");
    }
}
