#![allow(clippy::unwrap_used)]
use proptest::prelude::*;

use super::*;

#[test]
fn defaults_use_all_data_with_four_times_the_test_to_train_on() {
    let windows = walk_forward(1000, 100, &WalkForwardConfig::default()).unwrap();
    assert_eq!(windows[0], WalkForwardWindow { index: 0, train: 100..500, test: 500..600 });
    assert_eq!(windows[4], WalkForwardWindow { index: 4, train: 500..900, test: 900..1000 });
}

#[test]
fn anchored_trains_grow_from_the_first_usable_bar() {
    let config = WalkForwardConfig { mode: WalkForwardMode::Anchored, ..WalkForwardConfig::default() };
    let windows = walk_forward(1000, 100, &config).unwrap();
    assert!(windows.iter().all(|w| w.train.start == 100));
    assert_eq!(windows[4].train, 100..900);
}

#[test]
fn purge_and_embargo_by_hand() {
    let config = WalkForwardConfig {
        n_windows: 3,
        train_bars: Some(50),
        test_bars: Some(20),
        purge_bars: 5,
        embargo_bars: 7,
        ..WalkForwardConfig::default()
    };
    let windows = walk_forward(200, 10, &config).unwrap();
    let trains: Vec<_> = windows.iter().map(|w| w.train.clone()).collect();
    assert_eq!(trains, [85..135, 98..148, 118..168]);
    assert_eq!(windows[0].test, 140..160);
    let anchored = WalkForwardConfig { mode: WalkForwardMode::Anchored, ..config };
    let trains: Vec<_> = walk_forward(200, 10, &anchored).unwrap().iter().map(|w| w.train.clone()).collect();
    assert_eq!(trains, [85..135, 85..148, 85..168]);
}

#[test]
fn too_short_says_the_numbers_and_what_would_fit() {
    let config = WalkForwardConfig {
        n_windows: 5,
        train_bars: Some(500),
        test_bars: Some(100),
        purge_bars: 3,
        ..WalkForwardConfig::default()
    };
    let error = walk_forward(1000, 99, &config).unwrap_err();
    assert_eq!(error.to_string(), "needs 1102 bars, has 1000: warm-up 99 + train 500 + purge 3 + 5 x test 100");
    assert!(error.hint().unwrap().starts_with("set n_windows to 3 or less"));
    let none = walk_forward(100, 99, &WalkForwardConfig::default()).unwrap_err();
    assert_eq!(none.to_string(), "needs 111 bars, has 100: warm-up 99 + train 2 + purge 0 + 5 x test 2");
}

#[test]
fn nonsense_is_refused_not_overflowed() {
    let base = WalkForwardConfig::default();
    let config = |f: &dyn Fn(&mut WalkForwardConfig)| {
        let mut c = base.clone();
        f(&mut c);
        walk_forward(1000, 99, &c).unwrap_err()
    };
    assert_eq!(config(&|c| c.n_windows = 0), WindowError::NoWindows);
    assert_eq!(config(&|c| c.test_bars = Some(1)), WindowError::TooSmall { field: "test_bars", got: 1 });
    assert!(matches!(config(&|c| c.embargo_bars = 101), WindowError::Embargo { .. }));
    assert!(matches!(config(&|c| c.n_windows = usize::MAX), WindowError::TooShort { .. }));
    assert!(matches!(config(&|c| c.train_bars = Some(usize::MAX)), WindowError::TooShort { .. }));
    assert!(matches!(config(&|c| c.purge_bars = usize::MAX), WindowError::TooShort { .. }));
}

#[test]
fn modes_are_written_in_lower_case_and_unknown_keys_refused() {
    let config: WalkForwardConfig = serde_json::from_str(r#"{"mode": "anchored", "n_windows": 2}"#).unwrap();
    assert_eq!((config.mode, config.n_windows), (WalkForwardMode::Anchored, 2));
    assert!(serde_json::from_str::<WalkForwardConfig>(r#"{"folds": 2}"#).is_err());
}

fn any_config() -> impl Strategy<Value = WalkForwardConfig> {
    let mode = prop_oneof![Just(WalkForwardMode::Rolling), Just(WalkForwardMode::Anchored)];
    let length = || prop::option::of(0usize..400);
    (0usize..12, mode, length(), length(), 0usize..50, 0usize..50).prop_map(
        |(n_windows, mode, train_bars, test_bars, purge_bars, embargo_bars)| WalkForwardConfig {
            n_windows,
            mode,
            train_bars,
            test_bars,
            purge_bars,
            embargo_bars,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn every_config_holds_the_invariants(n_bars in 0usize..3000, warmup in 0usize..150, config in any_config()) {
        let Ok(windows) = walk_forward(n_bars, warmup, &config) else { return Ok(()) };
        prop_assert_eq!(windows.len(), config.n_windows);
        prop_assert_eq!(windows[windows.len() - 1].test.end, n_bars);
        for (i, w) in windows.iter().enumerate() {
            prop_assert_eq!(w.index, i);
            prop_assert!(w.train.start >= warmup);
            prop_assert!(w.train.len() >= MIN_PART_BARS && w.test.len() >= MIN_PART_BARS);
            prop_assert!(w.train.end + config.purge_bars <= w.test.start);
            prop_assert_eq!(w.test.len(), windows[0].test.len());
            let embargo = if i == 0 { 0 } else { config.embargo_bars };
            prop_assert_eq!(w.train.end + config.purge_bars + embargo, w.test.start);
            if let Some(bars) = config.test_bars {
                prop_assert_eq!(w.test.len(), bars);
            }
            match config.mode {
                WalkForwardMode::Rolling => prop_assert_eq!(w.train.len(), windows[0].train.len()),
                WalkForwardMode::Anchored => prop_assert_eq!(w.train.start, windows[0].train.start),
            }
        }
        for pair in windows.windows(2) {
            prop_assert_eq!(pair[0].test.end, pair[1].test.start);
        }
        match config.train_bars {
            Some(bars) => prop_assert_eq!(windows[0].train.len(), bars),
            None => prop_assert_eq!(windows[0].train.start, warmup),
        }
    }
}
