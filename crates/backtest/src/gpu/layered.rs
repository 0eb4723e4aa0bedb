//! [`LayeredPlan`]: how networks too large for a multiprocessor run. Sources of `layered.cu` and `dense.cu`; their
//! launches are in `evaluator/layered.rs`.

use gigabar_gpu::KernelSource;
use gigabar_gpu::header::{ARGMAX, PRELUDE};

use super::error::EvaluateError;
use super::layout;
use super::mlp::{MlpPolicy, MlpShape};
use super::rollout::{ENV, ENV_STATE, MLP, OBSERVATION, PROJECT, WINDOW};
use crate::cpu::observation::N_PORTFOLIO;
use crate::ensemble::EnsembleVote;

/// The rules of [`EnsembleVote`], for kernels and for a host compiler. Needs `prelude.cuh` and the constants of
/// [`vote_constants`].
pub const VOTE: (&str, &str) = ("vote.cuh", include_str!("vote.cuh"));
const LAYERED_HEADER: (&str, &str) = ("layered.cuh", include_str!("layered.cuh"));
const LAYERED: (&str, &str) = ("layered.cu", include_str!("layered.cu"));
const DENSE: (&str, &str) = ("dense.cu", include_str!("dense.cu"));

/// Threads of a block of `layered.cu`; `STEP_THREADS`.
pub(crate) const STEP_THREADS: usize = 384;
/// Widths are padded to multiples of this.
const PAD: usize = 64;
const MAX_HIDDEN: usize = 8;
const MAX_WIDTH: usize = 16_384;
/// One lane of a warp lives through each.
const MAX_ACTIONS: usize = 32;
const MAX_MODELS: usize = 65_535;
const MAX_VOTERS: usize = 256;
/// Rows and outputs of a tile of `dense.cu` at most.
const MAX_TILE: usize = 8;
/// Threads of a block of `dense.cu` at most.
const MAX_DENSE_THREADS: usize = 256;

/// The constants `vote.cuh` is compiled with; `None` for a model that decides alone.
pub fn vote_constants(vote: Option<EnsembleVote>, n_model: usize) -> Vec<(&'static str, u32)> {
    let names = ["VOTE_NONE", "VOTE_MEAN_Q", "VOTE_MAJORITY", "VOTE_CONFIDENCE", "VOTE_AGREEMENT"];
    let own = match vote {
        None => 0,
        Some(EnsembleVote::MeanQ) => 1,
        Some(EnsembleVote::Majority) => 2,
        Some(EnsembleVote::Confidence) => 3,
        Some(EnsembleVote::Agreement(_)) => 4,
    };
    let quorum = vote.and_then(|vote| vote.quorum(n_model)).unwrap_or(0);
    names.into_iter().zip(0..).chain([("VOTE", own), ("VOTE_QUORUM", quorum)]).collect()
}

/// Padded widths, tiles and numbers of a layered run: `n_model` networks of one shape, each over `n_row` windows.
#[derive(Debug, Clone, PartialEq)]
pub struct LayeredPlan {
    shape: MlpShape,
    /// Networks.
    pub n_model: usize,
    /// Windows of each.
    pub n_row: usize,
    /// How they decide together; `None`: each for itself.
    pub vote: Option<EnsembleVote>,
    /// Padded width of each hidden layer.
    pub widths: Vec<usize>,
    /// Rows of a tile of `dense.cu`.
    pub tile_rows: usize,
    /// Outputs of a tile, of every layer after the first. `[n_hidden − 1]`
    pub tile_outs: Vec<usize>,
}

impl LayeredPlan {
    /// Plans for a device of `n_sm` multiprocessors. With a vote the models form one ensemble.
    ///
    /// # Errors
    /// [`EvaluateError::Shape`] for a network or a number of models that no kernel is made for.
    pub fn new(
        shape: &MlpShape,
        n_model: usize,
        n_row: usize,
        vote: Option<EnsembleVote>,
        n_sm: usize,
    ) -> Result<Self, EvaluateError> {
        let refuse = |message: String| Err(EvaluateError::Shape { shape: shape.describe(), message });
        if !(1..=MAX_HIDDEN).contains(&shape.hidden.len()) {
            return refuse(format!("1 to {MAX_HIDDEN} hidden layers run on the device"));
        }
        if !shape.hidden.iter().all(|width| (1..=MAX_WIDTH).contains(width)) {
            return refuse(format!("layers of 1 to {MAX_WIDTH} units run on the device"));
        }
        if !(1..=MAX_ACTIONS).contains(&shape.n_action) || shape.n_feature == 0 {
            return refuse(format!("1 to {MAX_ACTIONS} actions and at least 1 feature run on the device"));
        }
        if !(1..=MAX_MODELS).contains(&n_model) || n_row == 0 {
            return refuse(format!("1 to {MAX_MODELS} networks over at least 1 window run at once"));
        }
        if vote.is_some() && n_model > MAX_VOTERS {
            return refuse(format!("an ensemble has at most {MAX_VOTERS} members on the device"));
        }
        let widths: Vec<usize> = shape.hidden.iter().map(|width| width.next_multiple_of(PAD)).collect();
        let tile_rows = n_row.next_power_of_two().min(MAX_TILE);
        // Half a tile where whole ones would leave multiprocessors idle.
        let blocks = |width: usize| width / MAX_TILE * n_row.div_ceil(tile_rows) * n_model;
        let outs = |&width: &usize| if blocks(width) >= n_sm { MAX_TILE } else { MAX_TILE / 2 };
        let tile_outs = widths[1..].iter().map(outs).collect();
        Ok(Self { shape: shape.clone(), n_model, n_row, vote, widths, tile_rows, tile_outs })
    }

    /// Models that decide an account together.
    pub fn n_voter(&self) -> usize {
        if self.vote.is_some() { self.n_model } else { 1 }
    }

    /// Accounts: one for each window and decider.
    pub fn n_account(&self) -> usize {
        self.n_model / self.n_voter() * self.n_row
    }

    /// Networks times windows.
    pub fn n_network_row(&self) -> usize {
        self.n_model * self.n_row
    }

    pub(crate) fn n_feature(&self) -> usize {
        self.shape.n_feature
    }

    pub(crate) fn n_action(&self) -> usize {
        self.shape.n_action
    }

    pub(crate) fn first_width(&self) -> usize {
        self.widths[0]
    }

    fn last_width(&self) -> usize {
        self.widths[self.widths.len() - 1]
    }

    pub(crate) fn n_head(&self) -> usize {
        self.shape.n_action + usize::from(self.shape.dueling)
    }

    pub(crate) fn portfolio_floats(&self) -> usize {
        self.first_width() * N_PORTFOLIO
    }

    /// Floats of one network row's shares of the head.
    pub fn share_floats(&self) -> usize {
        self.n_head() * self.last_width() / 4
    }

    pub(crate) fn head_floats(&self) -> usize {
        self.n_head() * self.last_width()
    }

    /// Threads of a block of `dense.cu` for layer `layer`; they split its inputs.
    pub(crate) fn dense_threads(&self, layer: usize) -> usize {
        (self.widths[layer - 1] / 4).next_multiple_of(32).min(MAX_DENSE_THREADS)
    }

    /// Blocks of `dense.cu` for layer `layer`.
    pub fn dense_grid(&self, layer: usize) -> [usize; 3] {
        [self.widths[layer] / self.tile_outs[layer - 1], self.n_row.div_ceil(self.tile_rows), self.n_model]
    }

    fn define(&self, source: KernelSource) -> KernelSource {
        let source = layout::define(source)
            .define("ACTIVATION_RELU", 0)
            .define("ACTIVATION_TANH", 1)
            .define("ACTIVATION_SILU", 2)
            .define("ACTIVATION", self.shape.activation as u32)
            .define("LAST", self.last_width())
            .define("N_ACTION", self.shape.n_action)
            .define("N_HEAD", self.n_head())
            .define("DUELING", u32::from(self.shape.dueling));
        let constants = vote_constants(self.vote, self.n_model);
        constants.into_iter().fold(source, |source, (name, value)| source.define(name, value))
    }
}

/// Source of `layered_begin` and `layered_step`; `flags` are those of all rules together, `actions` writes every
/// action.
pub fn step_source(plan: &LayeredPlan, flags: u32, actions: bool) -> KernelSource {
    let texts = [PRELUDE, ARGMAX, ENV_STATE, ENV, OBSERVATION, WINDOW, MLP, VOTE, LAYERED_HEADER, LAYERED];
    plan.define(KernelSource::new("layered.cu").texts(&texts).exact())
        .define("N_HIDDEN", plan.widths.len())
        .define("H1", plan.first_width())
        .define("VOTERS", plan.n_voter())
        .define("WRITE_ACTIONS", u32::from(actions))
        .define("ENV_FLAGS", format!("{flags}u"))
}

/// Source of `dense_forward` for hidden layer `layer`, 1 or more.
pub fn dense_source(plan: &LayeredPlan, layer: usize) -> KernelSource {
    let texts = [PRELUDE, MLP, LAYERED_HEADER, DENSE];
    plan.define(KernelSource::new("dense.cu").texts(&texts).exact())
        .define("DENSE_IN", plan.widths[layer - 1])
        .define("DENSE_OUT", plan.widths[layer])
        .define("DENSE_THREADS", plan.dense_threads(layer))
        .define("TILE_ROWS", plan.tile_rows)
        .define("TILE_OUTS", plan.tile_outs[layer - 1])
        .define("EMITS_HEAD", u32::from(layer + 1 == plan.widths.len()))
}

/// Source of `project_features` for the padded first layer.
pub fn first_source(plan: &LayeredPlan) -> KernelSource {
    let source = KernelSource::new("project.cu").texts(&[PRELUDE, ENV_STATE, ENV, WINDOW, PROJECT]);
    layout::define(source).define("N_FEATURE", plan.n_feature()).define("H1", plan.first_width())
}

/// Weights of all models in the layouts `layered.cu`, `dense.cu` and `project.cu` read, padded with zeros.
#[derive(Debug, Clone, Default)]
pub struct PackedLayers {
    /// `[n_model, n_feature, H1]`
    pub projection: Vec<f32>,
    /// `[n_model, H1]`
    pub projection_bias: Vec<f32>,
    /// `[n_model, H1/4, 8, 4]`
    pub portfolio: Vec<f32>,
    /// Weight `[n_model, n_out, n_in]` and bias `[n_model, n_out]` of every layer after the first.
    pub dense: Vec<(Vec<f32>, Vec<f32>)>,
    /// `[n_model, n_head, LAST]`
    pub head: Vec<f32>,
    /// `[n_model, n_head]`
    pub head_bias: Vec<f32>,
    /// `[n_model, n_action]`
    pub levels: Vec<f64>,
}

impl LayeredPlan {
    /// Packs policies of the plan's shape.
    pub fn pack(&self, policies: &[MlpPolicy]) -> PackedLayers {
        let mut out = PackedLayers { dense: vec![Default::default(); self.widths.len() - 1], ..Default::default() };
        for policy in policies {
            self.pack_first(policy, &mut out);
            for (layer, (weight, bias)) in (1..).zip(&mut out.dense) {
                let n_in = self.shape.hidden[layer - 1];
                pad_rows(&policy.weights[2 * layer], n_in, self.widths[layer - 1], self.widths[layer], weight);
                pad_rows(&policy.weights[2 * layer + 1], 1, 1, self.widths[layer], bias);
            }
            let n_last = self.shape.hidden[self.widths.len() - 1];
            for part in policy.weights[2 * self.widths.len()..].chunks_exact(2) {
                pad_rows(&part[0], n_last, self.last_width(), part[1].len(), &mut out.head);
                out.head_bias.extend_from_slice(&part[1]);
            }
            out.levels.extend_from_slice(&policy.levels);
        }
        out
    }

    fn pack_first(&self, policy: &MlpPolicy, out: &mut PackedLayers) {
        let (n_feature, n_unit) = (self.shape.n_feature, self.shape.hidden[0]);
        let n_input = n_feature + N_PORTFOLIO;
        let value = |unit: usize, i: usize| if unit < n_unit { policy.weights[0][unit * n_input + i] } else { 0.0 };
        let width = self.first_width();
        for feature in 0..n_feature {
            out.projection.extend((0..width).map(|unit| value(unit, feature)));
        }
        pad_rows(&policy.weights[1], 1, 1, width, &mut out.projection_bias);
        for quad in (0..width).step_by(4) {
            for i in n_feature..n_input {
                out.portfolio.extend((quad..quad + 4).map(|unit| value(unit, i)));
            }
        }
    }
}

/// Rows of `n` values as `rows` rows of `width`, filled up with zeros.
fn pad_rows(values: &[f32], n: usize, width: usize, rows: usize, out: &mut Vec<f32>) {
    let end = out.len() + rows * width;
    for row in values.chunks_exact(n) {
        out.extend_from_slice(row);
        out.extend(std::iter::repeat_n(0.0, width - n));
    }
    out.resize(end, 0.0);
}
