//! Every kernel and every kind of specialisation compiles for every architecture, without a GPU. Where NVRTC is not
//! installed the tests print a note: CI has it.

use gigabar_gpu::{Arch, KernelSource, compile, nvrtc_version};

use super::super::learner::{LearnerDims, learner_source};
use super::super::net::{NetLayout, TileShape};
use crate::net::{Activation, NetShape};

pub(super) const ARCHS: [Arch; 4] = [Arch(75), Arch(80), Arch(90), Arch(120)];

pub(super) fn has_nvrtc() -> bool {
    let version = nvrtc_version();
    if version.is_none() {
        println!("skipped: no libnvrtc; pip install nvidia-cuda-nvrtc and set NVRTC_LIB_DIR");
    }
    version.is_some()
}

/// The compiler's report of registers and spills.
pub(super) fn compiles(source: &KernelSource, arch: Arch) -> String {
    match compile(&source.clone().flag("--ptxas-options=-v"), arch) {
        Ok(compiled) => compiled.log,
        Err(error) => panic!("{error}"),
    }
}

fn shape(hidden: &[usize], activation: Activation, dueling: bool) -> NetShape {
    NetShape { n_input: 56, hidden: hidden.to_vec(), n_action: 5, activation, dueling }
}

#[test]
fn learner_kernels_compile_everywhere() {
    if !has_nvrtc() {
        return;
    }
    let shapes = [
        shape(&[256, 256], Activation::Relu, true),
        shape(&[64, 30], Activation::Silu, false),
        shape(&[7], Activation::Tanh, true),
        shape(&[], Activation::Relu, false),
    ];
    for arch in ARCHS {
        // One architecture compiles every shape, the others the first.
        for shape in &shapes[..if arch == Arch(90) { shapes.len() } else { 1 }] {
            let layout = NetLayout::new(shape).unwrap();
            for tile in [TileShape::SMALL, TileShape::LARGE, TileShape::WIDE, TileShape::GRADIENT] {
                let sources = (0..shape.hidden.len()).map(|layer| layout.dense_source(layer, tile));
                for source in sources.chain([layout.gradient_source(tile)]) {
                    spills_nothing(&compiles(&source, arch));
                }
            }
            let dims = LearnerDims { n_learner: 2, n_env: 16, batch: 64, double: shape.dueling };
            spills_nothing(&compiles(&learner_source(&layout, &dims), arch));
        }
    }
}

/// Nothing that a thread holds goes to memory and back.
pub(super) fn spills_nothing(log: &str) {
    let spills: Vec<&str> = log.lines().filter(|line| line.contains("bytes spill")).collect();
    assert!(spills.iter().all(|line| line.contains(" 0 bytes spill stores, 0 bytes spill loads")), "{log}");
}
