//! [`NetLayout`]: where a network's parameters lie on the device, and the sources of the kernels that multiply with
//! them.

use gigabar_gpu::KernelSource;
use gigabar_gpu::header::PRELUDE;

use crate::error::LearnError;
use crate::net::{Activation, NetShape};

pub(super) const TILE: (&str, &str) = ("tile.cuh", include_str!("tile.cuh"));
pub(super) const NET: (&str, &str) = ("net.cuh", include_str!("net.cuh"));
pub(super) const FOLD: (&str, &str) = ("fold.cuh", include_str!("fold.cuh"));
const DENSE: (&str, &str) = ("dense.cu", include_str!("dense.cu"));
const GRADIENT: (&str, &str) = ("gradient.cu", include_str!("gradient.cu"));

/// A warp keeps the head's outputs in registers.
const MAX_ACTIONS: usize = 32;

/// Rows and columns of a block's tile, those that one thread makes, the groups of threads that share its sums, and the
/// terms that a group takes at a time: `tile.cuh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TileShape {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) per_m: usize,
    pub(super) per_n: usize,
    pub(super) split: usize,
    pub(super) k: usize,
}

impl TileShape {
    pub(super) const WIDE: Self = Self { m: 128, n: 64, per_m: 8, per_n: 8, split: 2, k: 8 };
    pub(super) const LARGE: Self = Self { m: 64, n: 64, per_m: 4, per_n: 4, split: 1, k: 16 };
    pub(super) const SMALL: Self = Self { m: 32, n: 32, per_m: 4, per_n: 4, split: 4, k: 16 };
    /// Of gradients, which sum over many rows.
    pub(super) const GRADIENT: Self = Self { m: 64, n: 64, per_m: 8, per_n: 8, split: 2, k: 8 };

    /// For `copies` products of m × n: the larger the tile, the less is read for a product, as long as the
    /// multiprocessors have work. Measured on an H200.
    pub(super) fn choose(m: usize, n: usize, copies: usize, n_sm: usize) -> Self {
        let blocks = |tile: Self| m.div_ceil(tile.m) * n.div_ceil(tile.n) * copies;
        if m >= Self::WIDE.m && 3 * blocks(Self::WIDE) >= 2 * n_sm {
            Self::WIDE
        } else if blocks(Self::LARGE) >= 2 * n_sm {
            Self::LARGE
        } else {
            Self::SMALL
        }
    }

    pub(super) fn threads(self) -> usize {
        self.m * self.n / (self.per_m * self.per_n) * self.split
    }

    pub(super) fn tiles(self, m: usize, n: usize) -> [usize; 2] {
        [m.div_ceil(self.m), n.div_ceil(self.n)]
    }

    fn define(self, source: KernelSource) -> KernelSource {
        let source = source.define("TILE_M", self.m).define("TILE_N", self.n).define("TILE_K", self.k);
        source.define("PER_M", self.per_m).define("PER_N", self.per_n).define("SPLIT", self.split)
    }
}

/// One layer: its widths, its rows' lengths in memory (multiples of 4) and the offsets of its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LayerLayout {
    pub(super) n_in: usize,
    pub(super) n_out: usize,
    pub(super) in_stride: usize,
    pub(super) out_stride: usize,
    pub(super) weight: usize,
    pub(super) bias: usize,
}

/// All parameters of a network in one row of floats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NetLayout {
    pub(super) shape: NetShape,
    pub(super) hidden: Vec<LayerLayout>,
    /// Value (where dueling) and advantages, or Q, as one layer.
    pub(super) head: LayerLayout,
    /// Floats of one network.
    pub(super) n_param: usize,
}

fn padded(n: usize) -> usize {
    n.next_multiple_of(4)
}

impl NetLayout {
    /// # Errors
    /// [`LearnError::Config`] for more actions than a warp keeps.
    pub(super) fn new(shape: &NetShape) -> Result<Self, LearnError> {
        if shape.n_action > MAX_ACTIONS {
            let value = format!("{} levels", shape.n_action);
            return Err(LearnError::Config {
                field: "levels",
                value,
                rule: "at most 32 numbers for training on a GPU",
            });
        }
        let mut n_param = 0;
        let mut take = |n_in: usize, n_out: usize| {
            let (in_stride, out_stride, weight) = (padded(n_in), padded(n_out), n_param);
            let bias = weight + padded(n_out * in_stride);
            n_param = bias + out_stride;
            LayerLayout { n_in, n_out, in_stride, out_stride, weight, bias }
        };
        let mut width = shape.n_input;
        let mut hidden = Vec::new();
        for &n_out in &shape.hidden {
            hidden.push(take(width, n_out));
            width = n_out;
        }
        let head = take(width, shape.n_action + usize::from(shape.dueling));
        Ok(Self { shape: shape.clone(), hidden, head, n_param })
    }

    /// Every parameter of [`NetShape::parameters`], in that order: its first float here, its rows and their length, and
    /// the distance between rows.
    fn places(&self) -> Vec<[usize; 4]> {
        let mut out = Vec::new();
        let mut layer = |layer: &LayerLayout, first: usize, n_row: usize| {
            out.push([layer.weight + first * layer.in_stride, n_row, layer.n_in, layer.in_stride]);
            out.push([layer.bias + first, 1, n_row, n_row]);
        };
        self.hidden.iter().for_each(|hidden| layer(hidden, 0, hidden.n_out));
        if self.shape.dueling {
            layer(&self.head, 0, 1);
            layer(&self.head, 1, self.shape.n_action);
        } else {
            layer(&self.head, 0, self.shape.n_action);
        }
        out
    }

    /// Appends one network's parameters, zeros between them.
    pub(super) fn pack(&self, weights: &[Vec<f32>], out: &mut Vec<f32>) {
        let first = out.len();
        out.resize(first + self.n_param, 0.0);
        for ([at, n_row, width, stride], values) in self.places().into_iter().zip(weights) {
            for (row, values) in (0..n_row).zip(values.chunks(width)) {
                let start = first + at + row * stride;
                out[start..start + width].copy_from_slice(values);
            }
        }
    }

    /// The parameters of one network's row.
    pub(super) fn unpack(&self, row: &[f32]) -> Vec<Vec<f32>> {
        let parameter = |[at, n_row, width, stride]: [usize; 4]| {
            (0..n_row).flat_map(|r| &row[at + r * stride..at + r * stride + width]).copied().collect()
        };
        self.places().into_iter().map(parameter).collect()
    }

    /// The constants of `net.cuh`.
    pub(super) fn define(&self, source: KernelSource) -> KernelSource {
        source
            .define("ACTIVATION_RELU", 0)
            .define("ACTIVATION_TANH", 1)
            .define("ACTIVATION_SILU", 2)
            .define("ACTIVATION", activation_number(self.shape.activation))
            .define("PARAMS", self.n_param)
            .define("N_HIDDEN", self.hidden.len())
            .define("N_ACTION", self.shape.n_action)
            .define("N_HEAD", self.head.n_out)
            .define("HEAD_STRIDE", self.head.out_stride)
            .define("HEAD_WEIGHT", self.head.weight)
            .define("HEAD_BIAS", self.head.bias)
            .define("LAST_STRIDE", self.head.in_stride)
            .define("DUELING", u32::from(self.shape.dueling))
    }

    /// Source of `dense_forward` and `dense_backward` of hidden layer `layer`.
    pub(super) fn dense_source(&self, layer: usize, tile: TileShape) -> KernelSource {
        let LayerLayout { n_in, n_out, in_stride, out_stride, weight, bias } = self.hidden[layer];
        let source = KernelSource::new("dense.cu").texts(&[PRELUDE, NET, TILE, DENSE]).exact();
        tile.define(self.define(source))
            .define("IN", n_in)
            .define("OUT", n_out)
            .define("IN_STRIDE", in_stride)
            .define("OUT_STRIDE", out_stride)
            .define("WEIGHT", weight)
            .define("BIAS", bias)
    }

    /// Source of `gradient_sum`.
    pub(super) fn gradient_source(&self, tile: TileShape) -> KernelSource {
        let source = KernelSource::new("gradient.cu").texts(&[PRELUDE, FOLD, TILE, GRADIENT]).exact();
        tile.define(self.define(source))
    }
}

fn activation_number(activation: Activation) -> u32 {
    match activation {
        Activation::Relu => 0,
        Activation::Tanh => 1,
        Activation::Silu => 2,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn packing_loses_nothing_and_rows_begin_at_multiples_of_four() {
        for (hidden, dueling) in [(vec![6, 5], true), (vec![3], false), (vec![], true)] {
            let shape = NetShape { n_input: 7, hidden, n_action: 5, activation: Activation::Tanh, dueling };
            let layout = NetLayout::new(&shape).unwrap();
            let weights = shape.initial(4);
            let mut packed = vec![9.0; 4];
            layout.pack(&weights, &mut packed);
            assert_eq!(packed.len(), 4 + layout.n_param);
            assert_eq!(layout.unpack(&packed[4..]), weights);
            assert!(layout.hidden.iter().all(|l| l.weight % 4 == 0 && l.bias % 4 == 0 && l.in_stride % 4 == 0));
            assert!(layout.head.weight.is_multiple_of(4) && layout.n_param.is_multiple_of(4));
        }
    }
}
