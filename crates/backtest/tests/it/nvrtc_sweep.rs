//! The kernels of a sweep compile for every architecture and every kind of rules, and the accounts stay in registers.

use gigabar_backtest::gpu::indicator::indicator_source;
use gigabar_backtest::gpu::sweep::sweep_source;
use gigabar_gpu::{Arch, KernelSource, compile};

use crate::nvrtc::{ARCHS, compiles, has_nvrtc};

#[test]
fn sweep_kernels_compile_everywhere() {
    if !has_nvrtc() {
        return;
    }
    for arch in ARCHS {
        compiles(&indicator_source(), arch);
        for flags in [0, 1, u32::MAX] {
            compiles(&sweep_source(flags, false), arch);
            compiles(&sweep_source(flags, true), arch);
        }
    }
}

/// Lines of ptxas's report about one function.
fn report<'a>(log: &'a str, function: &str) -> &'a str {
    let start = log.find(&format!("'{function}'")).unwrap_or_else(|| panic!("no {function} in {log}"));
    let rest = &log[start..];
    &rest[..rest[1..].find("Compiling entry").map_or(rest.len(), |end| end + 1)]
}

#[test]
fn an_account_walks_in_registers() {
    if !has_nvrtc() {
        return;
    }
    let reported = |source: KernelSource, arch| compile(&source.flag("--ptxas-options=-v"), arch).unwrap().log;
    for arch in [Arch(80), Arch(90), Arch(120)] {
        for flags in [0, 1, u32::MAX] {
            for sized in [false, true] {
                let log = reported(sweep_source(flags, sized), arch);
                let walk = report(&log, "sweep_walk");
                let said = walk.lines().skip(1).collect::<Vec<_>>().join(" ");
                println!("{arch}, rules {flags:x}, sized {sized}: {said}");
                assert!(walk.contains(" 0 bytes spill stores, 0 bytes spill loads"), "{walk}");
            }
        }
        println!("{arch}: {}", reported(indicator_source(), arch));
    }
}
