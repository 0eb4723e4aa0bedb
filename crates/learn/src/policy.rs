//! [`NetPolicy`]: a trained Q-network as a [`Policy`], greedy, with a forward pass of its own in plain f32.
//!
//! The pass allocates nothing per bar and needs no Candle; a test holds it to Candle's values.

use std::ops::Range;
use std::sync::Arc;

use gigabar_backtest::cpu::observation::N_PORTFOLIO;
use gigabar_backtest::gpu::{MlpActivation, MlpPolicy, MlpShape};
use gigabar_backtest::policy::{Observation, Policy};
use gigabar_market::scale::ScaledFeatures;

use crate::error::LearnError;
use crate::net::{Activation, NetShape};

/// Index of the largest value; ties go to the lowest index, NaN never wins.
pub fn argmax(values: &[f32]) -> usize {
    let mut best = 0;
    for (i, &value) in values.iter().enumerate() {
        if value > values[best] || (values[best].is_nan() && !value.is_nan()) {
            best = i;
        }
    }
    best
}

/// y = x·Wᵀ + b with W stored transposed, so that the inner loop runs over contiguous outputs.
#[derive(Debug)]
struct Layer {
    /// `[n_in, n_out]`
    weight: Vec<f32>,
    /// `[n_out]`
    bias: Vec<f32>,
}

impl Layer {
    /// From a checkpoint's weight `[n_out, n_in]` and bias.
    fn new(weight: &[f32], bias: &[f32]) -> Self {
        let n_out = bias.len();
        let n_in = weight.len() / n_out;
        let transposed = (0..n_in).flat_map(|i| (0..n_out).map(move |o| weight[o * n_in + i])).collect();
        Self { weight: transposed, bias: bias.to_vec() }
    }

    fn apply(&self, x: &[f32], y: &mut Vec<f32>) {
        y.clear();
        y.extend_from_slice(&self.bias);
        for (&x, row) in x.iter().zip(self.weight.chunks_exact(self.bias.len())) {
            y.iter_mut().zip(row).for_each(|(y, w)| *y += x * w);
        }
    }
}

/// The weights of a network and its forward pass in plain Rust. Cloning shares the weights.
#[derive(Debug, Clone)]
pub struct PlainNet {
    shape: NetShape,
    layers: Arc<Vec<Layer>>,
    /// Scratch: the layer's input and output. `[widest layer]`
    x: Vec<f32>,
    y: Vec<f32>,
    /// `[n_action]`
    q: Vec<f32>,
}

impl PlainNet {
    /// A network with the given weights, in the order of [`NetShape::parameters`].
    pub fn new(shape: NetShape, weights: &[Vec<f32>]) -> Self {
        let layers = Arc::new(weights.chunks_exact(2).map(|p| Layer::new(&p[0], &p[1])).collect());
        let widest = shape.hidden.iter().copied().max().unwrap_or(0).max(shape.n_input).max(shape.n_action);
        let scratch = || Vec::with_capacity(widest);
        let q = Vec::with_capacity(shape.n_action);
        Self { shape, layers, x: scratch(), y: scratch(), q }
    }

    /// Q of every action for one observation. `[n_input]` → `[n_action]`
    pub fn forward(&mut self, observation: &[f32]) -> &[f32] {
        self.x.clear();
        self.x.extend_from_slice(observation);
        let (hidden, heads) = self.layers.split_at(self.shape.hidden.len());
        for layer in hidden {
            layer.apply(&self.x, &mut self.y);
            self.y.iter_mut().for_each(|y| *y = self.shape.activation.apply(*y));
            std::mem::swap(&mut self.x, &mut self.y);
        }
        if let [value, advantage] = heads {
            value.apply(&self.x, &mut self.y);
            advantage.apply(&self.x, &mut self.q);
            let centre = self.y[0] - self.q.iter().sum::<f32>() / self.q.len() as f32;
            self.q.iter_mut().for_each(|q| *q += centre);
        } else {
            heads[0].apply(&self.x, &mut self.q);
        }
        &self.q
    }
}

/// Picks the level of largest Q at every close.
#[derive(Debug, Clone)]
pub struct NetPolicy {
    net: PlainNet,
    weights: Arc<Vec<Vec<f32>>>,
    levels: Arc<Vec<f64>>,
    features: Arc<ScaledFeatures>,
    observation: Vec<f32>,
}

impl NetPolicy {
    /// A policy over scaled features of the very data set it will trade. `weights` in the order of
    /// [`NetShape::parameters`].
    ///
    /// # Errors
    /// [`LearnError::Tensor`] when weights, levels or features don't fit the shape.
    pub fn new(
        shape: NetShape,
        weights: Vec<Vec<f32>>,
        levels: Vec<f64>,
        features: Arc<ScaledFeatures>,
    ) -> Result<Self, LearnError> {
        let lengths: Vec<usize> = shape.parameters().iter().map(|p| p.len()).collect();
        let given: Vec<usize> = weights.iter().map(Vec::len).collect();
        let n_input = features.n_feature() + N_PORTFOLIO;
        if lengths != given || levels.len() != shape.n_action || n_input != shape.n_input {
            let (n_level, n_action, want) = (levels.len(), shape.n_action, shape.n_input);
            let message = format!(
                "weights of lengths {given:?} for {lengths:?}, {n_level} levels for {n_action} actions, {n_input} inputs for {want}"
            );
            return Err(candle_core::Error::Msg(message).into());
        }
        Ok(Self::of_trained(shape, weights, levels, features))
    }

    /// [`NetPolicy::new`] for parts that are known to fit.
    pub(crate) fn of_trained(
        shape: NetShape,
        weights: Vec<Vec<f32>>,
        levels: Vec<f64>,
        features: Arc<ScaledFeatures>,
    ) -> Self {
        let observation = Vec::with_capacity(shape.n_input);
        let net = PlainNet::new(shape, &weights);
        Self { net, weights: Arc::new(weights), levels: Arc::new(levels), features, observation }
    }

    /// The same network on other data: `features` must be scaled by the scaler the network was trained with.
    ///
    /// # Errors
    /// [`LearnError::Tensor`] when the features have another width.
    pub fn on(&self, features: Arc<ScaledFeatures>) -> Result<Self, LearnError> {
        Self::new(self.net.shape.clone(), self.weights.to_vec(), self.levels.to_vec(), features)
    }

    /// What the network looks like.
    pub fn shape(&self) -> &NetShape {
        &self.net.shape
    }

    /// Its weights, in the order of [`NetShape::parameters`].
    pub fn weights(&self) -> &[Vec<f32>] {
        &self.weights
    }

    /// The exposure levels it chooses from.
    pub fn levels(&self) -> &[f64] {
        &self.levels
    }

    /// The scaled features it reads.
    pub fn features(&self) -> &ScaledFeatures {
        &self.features
    }

    /// The same network for [`GpuBacktestEvaluator`](gigabar_backtest::gpu::GpuBacktestEvaluator).
    pub fn on_device(&self) -> MlpPolicy {
        let shape = self.shape();
        let shape = MlpShape {
            n_feature: shape.n_input - N_PORTFOLIO,
            hidden: shape.hidden.clone(),
            n_action: shape.n_action,
            activation: match shape.activation {
                Activation::Relu => MlpActivation::Relu,
                Activation::Tanh => MlpActivation::Tanh,
                Activation::Silu => MlpActivation::Silu,
            },
            dueling: shape.dueling,
        };
        MlpPolicy { shape, weights: self.weights.to_vec(), levels: self.levels.to_vec() }
    }

    /// Q of every action at the close of bar `t`. `[n_action]`
    pub fn q(&mut self, t: usize, portfolio: &[f32; N_PORTFOLIO]) -> &[f32] {
        self.observation.clear();
        self.observation.extend_from_slice(self.features.row(t));
        self.observation.extend_from_slice(portfolio);
        self.net.forward(&self.observation)
    }
}

impl Policy for NetPolicy {
    fn name(&self) -> String {
        "dqn".into()
    }

    fn reset(&mut self, _window: Range<usize>) {}

    fn level(&mut self, observation: &Observation<'_>) -> f64 {
        let action = argmax(self.q(observation.t(), observation.portfolio()));
        self.levels[action]
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::net::QNet;
    use gigabar_market::feature::FeatureTable;
    use gigabar_market::rng::Philox;
    use gigabar_market::scale::Scaler;
    use gigabar_market::synth;

    #[test]
    fn argmax_prefers_the_first_and_ignores_nan() {
        assert_eq!(argmax(&[1.0, 3.0, 3.0]), 1);
        assert_eq!(argmax(&[f32::NAN, 1.0, f32::NAN]), 1);
        assert_eq!(argmax(&[f32::NAN, f32::NAN]), 0);
        assert_eq!(argmax(&[0.0, -0.0]), 0);
    }

    #[test]
    fn the_device_gets_every_parameter_in_its_order() {
        let bars = synth::random_walk(300, 1, &synth::RandomWalkConfig::default()).unwrap();
        let table = FeatureTable::compute(&bars).unwrap();
        let scaler = Scaler::fit(&table, table.warmup_bars()..table.n_bars()).unwrap();
        let features = Arc::new(scaler.transform(&table).unwrap());
        let n_input = table.n_feature() + N_PORTFOLIO;
        for (hidden, dueling) in [(vec![7], false), (vec![16, 33], true)] {
            let shape = NetShape { n_input, hidden, n_action: 5, activation: Activation::Silu, dueling };
            let parameters: Vec<usize> = shape.parameters().iter().map(|p| p.len()).collect();
            let policy = NetPolicy::new(shape.clone(), shape.initial(1), vec![0.0; 5], features.clone()).unwrap();
            let device = policy.on_device();
            let matrices: Vec<usize> = device.shape.matrices().iter().flat_map(|&(o, i)| [o * i, o]).collect();
            assert_eq!(matrices, parameters);
            assert_eq!((device.weights.as_slice(), device.shape.n_feature), (policy.weights(), table.n_feature()));
        }
    }

    #[test]
    fn the_plain_forward_is_candles() {
        let mut rng = Philox::new(4, 4);
        for hidden in [vec![], vec![7], vec![16, 33], vec![8, 8, 8]] {
            for activation in [Activation::Relu, Activation::Tanh, Activation::Silu] {
                for dueling in [false, true] {
                    let shape = NetShape { n_input: 11, hidden: hidden.clone(), n_action: 5, activation, dueling };
                    let weights = shape.initial(1);
                    let candle = QNet::new(shape.clone(), &weights).unwrap();
                    let mut plain = PlainNet::new(shape, &weights);
                    let observation: Vec<f32> = (0..11).map(|_| (rng.uniform() * 6.0 - 3.0) as f32).collect();
                    let want = candle.infer(&candle.input(observation.clone()).unwrap()).unwrap();
                    for (got, want) in plain.forward(&observation).iter().zip(want) {
                        assert!((got - want).abs() < 2e-6 * (1.0 + want.abs()), "{got} against {want}");
                    }
                }
            }
        }
    }
}
