//! The kernels of the layered form compile for every architecture, without a GPU, and keep their sums in registers.

use gigabar_backtest::EnsembleVote;
use gigabar_backtest::gpu::layered::{LayeredPlan, dense_source, first_source, step_source};
use gigabar_backtest::gpu::{MlpActivation, MlpShape};
use gigabar_gpu::Arch;

use crate::nvrtc::{ARCHS, compiles, has_nvrtc};

/// Multiprocessors of the device planned for.
const N_SM: usize = 132;

fn shape(hidden: &[usize], n_action: usize, activation: MlpActivation, dueling: bool) -> MlpShape {
    MlpShape { n_feature: 48, hidden: hidden.to_vec(), n_action, activation, dueling }
}

fn plan(shape: &MlpShape, n_model: usize, n_row: usize, vote: Option<EnsembleVote>) -> LayeredPlan {
    LayeredPlan::new(shape, n_model, n_row, vote, N_SM).unwrap()
}

/// The largest `Used N registers` and the largest number of spilled bytes among the kernels of a report.
fn resources(log: &str) -> (u32, u32) {
    let largest = |word: &str| {
        let numbers = log.match_indices(word).map(|(end, _)| log[..end].trim_end().rsplit(' ').next().unwrap());
        numbers.map(|n| n.parse::<u32>().unwrap()).max().unwrap_or_else(|| panic!("no `{word}` in {log}"))
    };
    (largest(" registers"), largest(" bytes spill stores").max(largest(" bytes spill loads")))
}

fn compiles_whole(plan: &LayeredPlan, arch: Arch, actions: bool) {
    compiles(&step_source(plan, u32::MAX, actions), arch);
    compiles(&first_source(plan), arch);
    for layer in 1..plan.widths.len() {
        compiles(&dense_source(plan, layer), arch);
    }
}

#[test]
fn every_depth_and_width_compiles_everywhere() {
    if !has_nvrtc() {
        return;
    }
    let cases = [
        (shape(&[1024, 1024], 5, MlpActivation::Relu, false), 8),
        (shape(&[2048], 5, MlpActivation::Silu, true), 1),
        (shape(&[1024, 700, 512], 9, MlpActivation::Tanh, false), 2),
        (shape(&[300, 256, 200, 128, 64], 3, MlpActivation::Silu, true), 4096),
        (shape(&[16_384, 100], 32, MlpActivation::Relu, true), 3),
    ];
    for (i, (shape, n_row)) in cases.iter().enumerate() {
        // Every architecture for the first shape; the others take turns.
        let archs: Vec<Arch> = if i == 0 { ARCHS.to_vec() } else { vec![ARCHS[i % ARCHS.len()]] };
        for arch in archs {
            compiles_whole(&plan(shape, 1, *n_row, None), arch, i % 2 == 0);
        }
    }
}

#[test]
fn every_vote_compiles_everywhere() {
    if !has_nvrtc() {
        return;
    }
    let shape = shape(&[256, 256], 5, MlpActivation::Relu, true);
    let votes = ["mean-q", "majority", "confidence", "agreement:0.6"];
    for (vote, arch) in votes.into_iter().zip(ARCHS) {
        compiles_whole(&plan(&shape, 7, 8, Some(vote.parse().unwrap())), arch, true);
    }
}

#[test]
fn tiles_and_accounts_stay_in_registers() {
    if !has_nvrtc() {
        return;
    }
    let shape = shape(&[1024, 1024], 5, MlpActivation::Relu, false);
    for arch in ARCHS {
        for (n_model, n_row, vote) in [(1, 8, None), (1, 1, None), (7, 8, Some(EnsembleVote::Majority))] {
            let plan = plan(&shape, n_model, n_row, vote);
            for (name, source) in [("dense", dense_source(&plan, 1)), ("step", step_source(&plan, u32::MAX, true))] {
                let log = compiles(&source.flag("--ptxas-options=-v"), arch);
                let (registers, spilled) = resources(&log);
                println!(
                    "{arch}, {name}, {n_model} models, {n_row} windows: {registers} registers, {spilled} B spilled"
                );
                // A few words in the tile of 64 sums where two blocks share the registers.
                assert!(spilled <= if name == "dense" { 64 } else { 0 }, "{log}");
            }
        }
    }
}

#[test]
fn a_network_no_kernel_is_made_for_is_refused_with_the_reason() {
    let refused = |hidden: &[usize], n_model, vote| {
        let shape = shape(hidden, 5, MlpActivation::Relu, false);
        LayeredPlan::new(&shape, n_model, 8, vote, N_SM).unwrap_err().to_string()
    };
    assert_eq!(refused(&[], 1, None), "network 48+8→5: 1 to 8 hidden layers run on the device");
    assert_eq!(refused(&[64, 0], 1, None), "network 48+8→64→0→5: layers of 1 to 16384 units run on the device");
    assert_eq!(
        refused(&[64], 300, Some(EnsembleVote::MeanQ)),
        "network 48+8→64→5: an ensemble has at most 256 members on the device"
    );
}
