//! The device header `env.cuh`, compiled for the host, beside [`Account::step`]: bit for bit, every option on.
//! A machine needs a C++17 compiler for it (`CXX`, else `c++`).

use std::fmt::Debug;
use std::process::Command;

use gigabar_backtest::Trade;
use gigabar_backtest::cpu::account::Account;
use gigabar_backtest::cpu::engine::Rules;
use gigabar_backtest::gpu::layout::{EnvAccount, EnvBar, EnvRules, EnvStep, EnvTrade, constants};
use gigabar_backtest::gpu::{ENV, ENV_STATE, OBSERVATION};
use gigabar_gpu::header::PRELUDE;
use libloading::Library;

use crate::random_case::Case;

const STEPS: usize = 1_000_000;
/// More trades than one bar can close.
const CAPACITY: usize = 8;

type StepFn = unsafe extern "C" fn(
    *const EnvRules,
    *mut EnvAccount,
    *const EnvBar,
    u32,
    f64,
    u32,
    *mut EnvTrade,
    u32,
    *mut EnvStep,
) -> u32;

/// `env.cuh` and `observation.cuh` as a shared library.
struct Host {
    library: Library,
    _folder: tempfile::TempDir,
}

impl Host {
    fn build() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (source, library) = (folder.path().join("env.cpp"), folder.path().join("libenv.so"));
        let texts = [PRELUDE, ENV_STATE, ENV, OBSERVATION, ("env_host.cpp", include_str!("env_host.cpp"))];
        let joined: String = texts.iter().map(|(file, text)| format!("#line 1 \"{file}\"\n{text}\n")).collect();
        std::fs::write(&source, joined.replace("#pragma once", "")).unwrap();
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
        let defines = constants().into_iter().map(|(name, value)| format!("-D{name}={value}"));
        let flags = ["-std=c++17", "-O2", "-ffp-contract=off", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o"];
        let output = Command::new(&compiler).args(defines).args(flags).arg(&library).arg(&source).output();
        let output = output.unwrap_or_else(|e| panic!("this test needs a C++17 compiler; `{compiler}` (set CXX): {e}"));
        assert!(output.status.success(), "{compiler}: {}", String::from_utf8_lossy(&output.stderr));
        // SAFETY: the library was built a moment ago from our own text and has no initialisers.
        Self { library: unsafe { Library::new(&library) }.unwrap(), _folder: folder }
    }

    fn account(&self, rules: &EnvRules) -> EnvAccount {
        let mut account = EnvAccount::default();
        // SAFETY: the symbol has this type in env_host.cpp; both structs are alive.
        unsafe {
            let new = self.library.get::<unsafe extern "C" fn(*mut EnvAccount, *const EnvRules)>(b"host_env_new");
            new.unwrap()(&raw mut account, rules);
        }
        account
    }

    fn observation(&self, name: &[u8], account: &EnvAccount, now: &EnvBar) -> [f32; 8] {
        let mut out = [0.0_f32; 8];
        // SAFETY: as above; `out` has the 8 elements the function writes.
        unsafe {
            let observe = self.library.get::<unsafe extern "C" fn(*const EnvAccount, *const EnvBar, *mut f32)>(name);
            observe.unwrap()(account, now, out.as_mut_ptr());
        }
        out
    }
}

/// Bits of anything compared, so that NaN equals itself and 0 differs from −0.
trait Bits: Debug {
    fn bits(&self) -> u64;
}

impl Bits for f64 {
    fn bits(&self) -> u64 {
        self.to_bits()
    }
}

impl Bits for usize {
    fn bits(&self) -> u64 {
        *self as u64
    }
}

fn same(what: &str, cpu: &dyn Bits, device: &dyn Bits, at: &dyn Fn() -> String) {
    assert!(cpu.bits() == device.bits(), "{what}: engine {cpu:?}, env.cuh {device:?}, {}", at());
}

fn same_trade(cpu: &Trade, device: &EnvTrade, at: &dyn Fn() -> String) {
    let got = device.trade().unwrap();
    assert_eq!((cpu.side, cpu.exit), (got.side, got.exit), "side and exit, {}", at());
    same("trade.units", &cpu.units, &got.units, at);
    same("trade.entry_price", &cpu.entry_price, &got.entry_price, at);
    same("trade.exit_price", &cpu.exit_price, &got.exit_price, at);
    same("trade.pnl", &cpu.pnl, &got.pnl, at);
    same("trade.trade_return", &cpu.trade_return, &got.trade_return, at);
    same("trade.entry_bar", &cpu.entry_bar, &got.entry_bar, at);
    same("trade.exit_bar", &cpu.exit_bar, &got.exit_bar, at);
    same("trade.bars_held", &cpu.bars_held, &got.bars_held, at);
}

fn same_account(cpu: &Account, device: &EnvAccount, at: &dyn Fn() -> String) {
    same("cash", &cpu.cash(), &device.cash, at);
    same("units", &cpu.units(), &device.units, at);
    same("level", &cpu.level(), &device.level, at);
    same("equity", &cpu.equity(), &device.equity, at);
    let (c, d) = (cpu.counts(), device.counts());
    same("traded_value", &c.traded_value, &d.traded_value, at);
    same("costs", &c.costs, &d.costs, at);
    same("carry", &c.carry, &d.carry, at);
    assert_eq!(*c, d, "counts, {}", at());
}

/// Runs one case in lockstep; the number of steps compared.
fn lockstep(host: &Host, seed: u64) -> usize {
    let case = Case::any(seed);
    let market = case.market();
    let rules = Rules::new(&case.config, &market).unwrap();
    let env_rules = EnvRules::new(&rules, &market);
    let bars: Vec<EnvBar> = (0..case.bars.len()).map(|t| EnvBar::of(&market, t)).collect();
    let mut cpu = Account::new(&rules);
    let mut device = host.account(&env_rules);
    // SAFETY: the symbol has this type in env_host.cpp.
    let step = unsafe { host.library.get::<StepFn>(b"host_env_step") }.unwrap();
    for (t, &level) in case.levels.iter().enumerate() {
        let at = || format!("window {seed}, step {t}: {:#?}", case.config);
        let observed = (cpu.observation(&market, t), host.observation(b"host_env_observation", &device, &bars[t]));
        assert_eq!(observed.0.map(f32::to_bits), observed.1.map(f32::to_bits), "observation, {observed:?}, {}", at());
        let fast = host.observation(b"host_env_observation_fast", &device, &bars[t]);
        for (i, (exact, fast)) in observed.0.iter().zip(fast).enumerate() {
            assert!(
                (exact - fast).abs() <= exact.abs().max(1.0) * 5e-7,
                "observation {i}: {exact} and fast {fast}, {}",
                at()
            );
        }
        let last = t + 2 == bars.len();
        let mut closed = Vec::new();
        let want = cpu.step(&rules, &market, t, level, last, &mut |trade| closed.push(trade));
        let mut trades = [EnvTrade::default(); CAPACITY];
        let mut got = EnvStep::default();
        // SAFETY: bars holds t + 1; `trades` holds CAPACITY.
        let n = unsafe {
            let (t, last, capacity) = (t as u32, u32::from(last), CAPACITY as u32);
            step(
                &raw const env_rules,
                &raw mut device,
                bars.as_ptr(),
                t,
                level,
                last,
                trades.as_mut_ptr(),
                capacity,
                &raw mut got,
            )
        };
        same("number of trades", &closed.len(), &(n as usize), &at);
        closed.iter().zip(&trades).for_each(|(cpu, device)| same_trade(cpu, device, &at));
        same("return", &want.ret, &got.ret, &at);
        same("step equity", &want.equity, &got.equity, &at);
        same("turnover", &want.turnover, &got.turnover, &at);
        same("drawdown rise", &want.drawdown_rise, &got.drawdown_rise, &at);
        same("sigma", &want.sigma, &got.sigma, &at);
        assert_eq!(want.ruined, got.ruined != 0, "ruined, {}", at());
        same_account(&cpu, &device, &at);
    }
    case.levels.len()
}

#[test]
fn env_cuh_equals_the_engine_bit_for_bit() {
    let host = Host::build();
    let mut steps = 0;
    let mut seed = 0;
    while steps < STEPS {
        steps += lockstep(&host, seed);
        seed += 1;
    }
    println!("{steps} steps of {seed} random configurations");
}
