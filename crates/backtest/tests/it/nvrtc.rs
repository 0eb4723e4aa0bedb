//! Every kernel and every kind of specialisation compiles for every architecture, without a GPU; the resident kernel
//! holds its weights without spilling. Where NVRTC is not installed the tests print a note: CI has it.

use gigabar_backtest::gpu::external::external_source;
use gigabar_backtest::gpu::full_metrics::full_source;
use gigabar_backtest::gpu::pool::pool_source;
use gigabar_backtest::gpu::replay::given_source;
use gigabar_backtest::gpu::rollout::{greedy_source, metrics_source, project_source};
use gigabar_backtest::gpu::{MlpActivation, MlpPlan, MlpShape};
use gigabar_gpu::{Arch, KernelSource, compile, nvrtc_version};

pub(crate) const ARCHS: [Arch; 4] = [Arch(75), Arch(80), Arch(90), Arch(120)];
/// Shared memory of a block on sm_90.
const HOPPER_SHARED: usize = 232_448;
/// Enough for every shape here: compiling needs no device to run on.
const ANY_SHARED: usize = 1 << 20;

pub(crate) fn has_nvrtc() -> bool {
    let version = nvrtc_version();
    if version.is_none() {
        println!("skipped: no libnvrtc; pip install nvidia-cuda-nvrtc and set NVRTC_LIB_DIR");
    }
    version.is_some()
}

fn shape(hidden: &[usize], n_action: usize, activation: MlpActivation, dueling: bool) -> MlpShape {
    MlpShape { n_feature: 48, hidden: hidden.to_vec(), n_action, activation, dueling }
}

pub(crate) fn compiles(source: &KernelSource, arch: Arch) -> String {
    match compile(source, arch) {
        Ok(compiled) => compiled.log,
        Err(error) => panic!("{error}"),
    }
}

/// Most registers of any function and spilled bytes of all, in ptxas's report.
fn resources(log: &str) -> (u32, u32) {
    let numbers_before = |word: &str| -> Vec<u32> {
        let before = |(end, _)| log[..end].trim_end().rsplit(' ').next().unwrap().parse::<u32>().unwrap();
        let found: Vec<u32> = log.match_indices(word).map(before).collect();
        assert!(!found.is_empty(), "no `{word}` in {log}");
        found
    };
    let spilled: u32 = [" bytes spill stores", " bytes spill loads"].into_iter().flat_map(numbers_before).sum();
    (numbers_before(" registers").into_iter().max().unwrap(), spilled)
}

#[test]
fn fixed_kernels_compile_everywhere() {
    if !has_nvrtc() {
        return;
    }
    for arch in ARCHS {
        for path in [false, true] {
            compiles(&given_source(0, path), arch);
            compiles(&given_source(u32::MAX, path), arch);
        }
        compiles(&metrics_source(), arch);
        compiles(&external_source(48, 5, u32::MAX), arch);
        compiles(&full_source(), arch);
        compiles(&pool_source(), arch);
    }
}

#[test]
fn the_whole_suite_is_measured_in_registers() {
    if !has_nvrtc() {
        return;
    }
    for arch in ARCHS {
        let log = compiles(&full_source().flag("--ptxas-options=-v"), arch);
        let (registers, spilled) = resources(&log);
        println!("{arch}: {registers} registers, {spilled} B spilled");
        // The compiler trades a few words of all four kernels for more blocks side by side.
        assert!(registers <= 128 && spilled <= 128, "{log}");
    }
}

#[test]
fn the_replay_keeps_its_account_in_registers() {
    if !has_nvrtc() {
        return;
    }
    for arch in ARCHS {
        let log = compiles(&given_source(u32::MAX, true).flag("--ptxas-options=-v"), arch);
        let (registers, spilled) = resources(&log);
        println!("{arch}: {registers} registers, {spilled} B spilled");
        assert_eq!(spilled, 0, "{log}");
    }
}

#[test]
fn every_kind_of_network_compiles_everywhere() {
    if !has_nvrtc() {
        return;
    }
    let shapes = [
        shape(&[256, 256], 5, MlpActivation::Relu, false),
        shape(&[256, 256], 5, MlpActivation::Relu, true),
        shape(&[100], 3, MlpActivation::Tanh, true),
        shape(&[128, 64, 64], 9, MlpActivation::Silu, false),
        shape(&[64, 512], 2, MlpActivation::Tanh, false),
        shape(&[512], 5, MlpActivation::Silu, true),
    ];
    for (i, shape) in shapes.iter().enumerate() {
        for slots in [1, 4, 8, 16] {
            // Every architecture for the first shape; the others take turns.
            let archs: Vec<Arch> = if i == 0 { ARCHS.to_vec() } else { vec![ARCHS[(i + slots) % ARCHS.len()]] };
            for arch in archs {
                let plan = MlpPlan::new(shape, slots, arch, ANY_SHARED, "any").unwrap();
                compiles(&greedy_source(&plan, u32::MAX, slots == 4, slots == 1), arch);
                compiles(&project_source(&plan), arch);
            }
        }
    }
}

#[test]
fn the_resident_kernel_does_not_spill() {
    if !has_nvrtc() {
        return;
    }
    let shape = shape(&[256, 256], 5, MlpActivation::Relu, false);
    // Beside the case it is tuned for, one slot on sm_90, a few words are allowed.
    for (arch, allowed) in [(Arch(80), 96), (Arch(90), 96), (Arch(120), 64)] {
        for (slots, flags) in [(1, 0), (1, u32::MAX), (4, u32::MAX), (8, 0), (8, u32::MAX), (16, 0), (16, u32::MAX)] {
            // Only Hopper has the memory for the weights of sixteen pairs a block.
            if slots == 16 && arch != Arch(90) {
                continue;
            }
            let plan = MlpPlan::new(&shape, slots, arch, HOPPER_SHARED, "any").unwrap();
            let source = greedy_source(&plan, flags, flags == 0, false).flag("--ptxas-options=-v");
            let log = compiles(&source, arch);
            let (registers, spilled) = resources(&log);
            let shared = plan.shared_bytes;
            println!(
                "{arch}, 2×256, {slots} slots, rules {flags:x}: {registers} registers, {spilled} B spilled, {shared} B shared"
            );
            assert!(registers <= 168, "{registers} registers");
            let allowed = if flags == 0 { allowed } else { 288 };
            assert!(spilled <= allowed, "{spilled} B spilled: {log}");
        }
    }
}

#[test]
fn a_network_too_large_is_refused_with_the_numbers() {
    let error = MlpPlan::new(&shape(&[512, 512], 5, MlpActivation::Relu, false), 1, Arch(90), HOPPER_SHARED, "H200")
        .unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with("network 48+8→512→512→5 needs "), "{message}");
    assert!(message.ends_with("of shared memory beside its registers, H200 has 232448 B"), "{message}");
    assert!(error.hint().is_some());
    let error =
        MlpPlan::new(&shape(&[], 5, MlpActivation::Relu, false), 1, Arch(90), HOPPER_SHARED, "H200").unwrap_err();
    assert_eq!(error.to_string(), "network 48+8→5: 1 to 3 hidden layers run on the device");
}
