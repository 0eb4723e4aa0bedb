//! The Q-network: a multilayer perceptron with an optional dueling head (Wang et al., "Dueling Network Architectures
//! for Deep Reinforcement Learning", ICML 2016), in f32 on Candle.
//!
//! Parameters live in a fixed, named order ([`NetShape::parameters`]) and start from Philox, so the same seed gives the
//! same network.

mod ops;

use candle_core::{Device, Tensor, Var};
use gigabar_market::rng::Philox;
use serde::{Deserialize, Serialize};

use crate::error::LearnError;

/// The nonlinearity between layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// max(x, 0); derivative 0 at 0.
    Relu,
    /// tanh x.
    Tanh,
    /// x·σ(x).
    Silu,
}

impl Activation {
    /// f(x).
    #[inline]
    pub fn apply(self, x: f32) -> f32 {
        match self {
            Self::Relu => x.max(0.0),
            Self::Tanh => x.tanh(),
            Self::Silu => x / (1.0 + (-x).exp()),
        }
    }

    /// f′(x), given x and y = f(x).
    #[inline]
    fn derivative(self, x: f32, y: f32) -> f32 {
        match self {
            Self::Relu => f32::from(u8::from(x > 0.0)),
            Self::Tanh => 1.0 - y * y,
            Self::Silu => {
                let sigmoid = 1.0 / (1.0 + (-x).exp());
                sigmoid * (1.0 - y) + y
            }
        }
    }
}

/// What a network looks like, without its weights.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetShape {
    /// Width of an observation: market features ++ portfolio.
    pub n_input: usize,
    /// Width of each hidden layer; empty: a linear Q-function.
    pub hidden: Vec<usize>,
    /// Number of actions.
    pub n_action: usize,
    /// Between the layers.
    pub activation: Activation,
    /// Q = V + A − mean A instead of one head.
    pub dueling: bool,
}

/// One parameter's name and shape: `[n_out, n_in]` for a weight, `[n_out]` for a bias.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Name in checkpoints.
    pub name: String,
    /// Dimensions.
    pub dims: Vec<usize>,
    /// Inputs of the layer it belongs to; sets the scale of its first values.
    fan_in: usize,
}

impl Parameter {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// Whether the parameter has no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl NetShape {
    /// All parameters in their one order: hidden layers, then `q`, or `value` and `advantage`.
    pub fn parameters(&self) -> Vec<Parameter> {
        let mut out = Vec::new();
        let mut layer = |name: &str, n_out: usize, fan_in: usize| {
            out.push(Parameter { name: format!("{name}.weight"), dims: vec![n_out, fan_in], fan_in });
            out.push(Parameter { name: format!("{name}.bias"), dims: vec![n_out], fan_in });
        };
        let mut width = self.n_input;
        for (i, &n_out) in self.hidden.iter().enumerate() {
            layer(&format!("hidden.{i}"), n_out, width);
            width = n_out;
        }
        if self.dueling {
            layer("value", 1, width);
            layer("advantage", self.n_action, width);
        } else {
            layer("q", self.n_action, width);
        }
        out
    }

    /// First values: uniform in ±1/√fan_in for weights and biases, one Philox stream per parameter.
    pub fn initial(&self, seed: u64) -> Vec<Vec<f32>> {
        let draw = |(i, parameter): (usize, Parameter)| {
            let mut rng = Philox::new(seed, crate::stream::INIT | i as u64);
            let bound = 1.0 / (parameter.fan_in as f64).sqrt();
            (0..parameter.len()).map(|_| ((2.0 * rng.uniform() - 1.0) * bound) as f32).collect()
        };
        self.parameters().into_iter().enumerate().map(draw).collect()
    }
}

/// Whether a forward pass records what a backward pass needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// Record.
    Train,
    /// Don't: no graph, no gradient.
    Infer,
}

/// A network with weights. Cloning shares the weights.
#[derive(Debug, Clone)]
pub struct QNet {
    shape: NetShape,
    vars: Vec<Var>,
}

impl QNet {
    /// A network with the given weights, in the order of [`NetShape::parameters`].
    ///
    /// # Errors
    /// [`LearnError::Tensor`] when a weight has the wrong length.
    pub fn new(shape: NetShape, weights: &[Vec<f32>]) -> Result<Self, LearnError> {
        let parameters = shape.parameters();
        if parameters.len() != weights.len() {
            return Err(candle_core::Error::Msg(format!(
                "expected {} parameters, got {}",
                parameters.len(),
                weights.len()
            ))
            .into());
        }
        let var = |(p, w): (&Parameter, &Vec<f32>)| Var::from_vec(w.clone(), p.dims.as_slice(), &Device::Cpu);
        let vars = parameters.iter().zip(weights).map(var).collect::<Result<_, _>>()?;
        Ok(Self { shape, vars })
    }

    /// What the network looks like.
    pub fn shape(&self) -> &NetShape {
        &self.shape
    }

    /// The variables, in the order of [`NetShape::parameters`].
    pub fn vars(&self) -> &[Var] {
        &self.vars
    }

    /// A copy of all weights, in the order of [`NetShape::parameters`].
    ///
    /// # Errors
    /// [`LearnError::Tensor`] as Candle reports it.
    pub fn weights(&self) -> Result<Vec<Vec<f32>>, LearnError> {
        Ok(self.vars.iter().map(|v| v.as_tensor().flatten_all()?.to_vec1()).collect::<Result<_, _>>()?)
    }

    /// Overwrites all weights.
    ///
    /// # Errors
    /// [`LearnError::Tensor`] when a weight has the wrong length.
    pub fn set_weights(&self, weights: &[Vec<f32>]) -> Result<(), LearnError> {
        for (var, w) in self.vars.iter().zip(weights) {
            var.set(&Tensor::from_slice(w, var.shape(), &Device::Cpu)?)?;
        }
        Ok(())
    }

    /// Observations as a tensor. Row-major `[n_row × n_input]` → `[n_row, n_input]`.
    ///
    /// # Errors
    /// [`LearnError::Tensor`] when the number of values is no multiple of `n_input`.
    pub fn input(&self, observations: Vec<f32>) -> Result<Tensor, LearnError> {
        let n_row = observations.len() / self.shape.n_input;
        Ok(Tensor::from_vec(observations, (n_row, self.shape.n_input), &Device::Cpu)?)
    }

    /// Q of every action. `[n_row, n_input]` → `[n_row, n_action]`.
    ///
    /// # Errors
    /// [`LearnError::Tensor`] when the observations have another width.
    pub fn forward(&self, observations: &Tensor, pass: Pass) -> Result<Tensor, LearnError> {
        let mut x = observations.clone();
        let layers: Vec<(Tensor, Tensor)> =
            self.vars.chunks_exact(2).map(|v| (weight(&v[0], pass), weight(&v[1], pass))).collect();
        let (hidden, heads) = layers.split_at(self.shape.hidden.len());
        for (w, b) in hidden {
            x = x.apply_op3(w, b, ops::Dense)?.apply_op1(ops::Activate(self.shape.activation))?;
        }
        let head = |i: usize| x.apply_op3(&heads[i].0, &heads[i].1, ops::Dense);
        if !self.shape.dueling {
            return Ok(head(0)?);
        }
        let (value, advantage) = (head(0)?, head(1)?);
        let centre = (value - advantage.mean_keepdim(1)?)?;
        Ok(advantage.broadcast_add(&centre)?)
    }

    /// [`QNet::forward`] without a graph, as plain values `[n_row × n_action]`.
    ///
    /// # Errors
    /// As [`QNet::forward`].
    pub fn infer(&self, observations: &Tensor) -> Result<Vec<f32>, LearnError> {
        Ok(self.forward(observations, Pass::Infer)?.flatten_all()?.to_vec1()?)
    }
}

/// Sharing the variable's storage, with or without its place in the graph.
fn weight(var: &Var, pass: Pass) -> Tensor {
    match pass {
        Pass::Train => var.as_tensor().clone(),
        Pass::Infer => var.as_detached_tensor(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn shape(activation: Activation, dueling: bool) -> NetShape {
        NetShape { n_input: 4, hidden: vec![6, 5], n_action: 3, activation, dueling }
    }

    fn observations() -> Tensor {
        let mut rng = Philox::new(5, 99);
        let values = (0..8 * 4).map(|_| (rng.uniform() * 4.0 - 2.0) as f32).collect();
        Tensor::from_vec::<_, f32>(values, (8, 4), &Device::Cpu).unwrap()
    }

    /// Σ c·Q with fixed, uneven coefficients: a scalar every parameter matters to.
    fn objective(net: &QNet, pass: Pass) -> Tensor {
        let q = net.forward(&observations(), pass).unwrap();
        let c: Vec<f32> = (0..24).map(|i| ((i * 7) % 5) as f32 - 1.7).collect();
        let c = Tensor::from_vec(c, (8, 3), &Device::Cpu).unwrap();
        (q * c).unwrap().sum_all().unwrap()
    }

    #[test]
    fn gradients_equal_finite_differences_and_none_vanishes() {
        for activation in [Activation::Relu, Activation::Tanh, Activation::Silu] {
            for dueling in [false, true] {
                let shape = shape(activation, dueling);
                let net = QNet::new(shape.clone(), &shape.initial(3)).unwrap();
                let grads = objective(&net, Pass::Train).backward().unwrap();
                for (i, var) in net.vars().iter().enumerate() {
                    let grad: Vec<f32> = grads.get(var).unwrap().flatten_all().unwrap().to_vec1().unwrap();
                    assert!(grad.iter().all(|g| g.is_finite()));
                    assert!(grad.iter().any(|&g| g != 0.0), "parameter {i} gets no gradient");
                    check_finite_differences(&net, i, &grad);
                }
            }
        }
    }

    fn check_finite_differences(net: &QNet, parameter: usize, grad: &[f32]) {
        let weights = net.weights().unwrap();
        let at = |k: usize, step: f32| {
            let mut moved = weights.clone();
            moved[parameter][k] += step;
            net.set_weights(&moved).unwrap();
            f64::from(objective(net, Pass::Infer).to_scalar::<f32>().unwrap())
        };
        for (k, &g) in grad.iter().enumerate() {
            let h = 1e-2;
            let numeric = (at(k, h) - at(k, -h)) / f64::from(2.0 * h);
            let halved = (at(k, h / 2.0) - at(k, -h / 2.0)) / f64::from(h);
            // A relu kink inside the interval shows as two differences that disagree; it says nothing about the
            // gradient.
            if (numeric - halved).abs() < 2e-3 * (1.0 + numeric.abs()) {
                let error = (halved - f64::from(g)).abs();
                assert!(error < 5e-3 * (1.0 + halved.abs()), "{parameter}/{k}: {g} against {halved}");
            }
        }
        net.set_weights(&weights).unwrap();
    }

    #[test]
    fn inference_leaves_no_graph() {
        let shape = shape(Activation::Relu, true);
        let net = QNet::new(shape.clone(), &shape.initial(3)).unwrap();
        assert!(!net.forward(&observations(), Pass::Infer).unwrap().track_op());
        assert!(net.forward(&observations(), Pass::Train).unwrap().track_op());
    }

    #[test]
    fn same_seed_same_weights_and_streams_differ() {
        let shape = shape(Activation::Tanh, false);
        assert_eq!(shape.initial(1), shape.initial(1));
        assert_ne!(shape.initial(1), shape.initial(2));
        let first = shape.initial(1);
        assert_ne!(first[0][..3], first[1][..3]);
    }

    #[test]
    fn dueling_centres_the_advantage() {
        let shape = shape(Activation::Silu, true);
        let net = QNet::new(shape.clone(), &shape.initial(9)).unwrap();
        let with = net.infer(&observations()).unwrap();
        let mut shifted = net.weights().unwrap();
        let last = shifted.len() - 1;
        shifted[last].iter_mut().for_each(|b| *b += 3.0);
        net.set_weights(&shifted).unwrap();
        for (a, b) in with.iter().zip(net.infer(&observations()).unwrap()) {
            assert!((a - b).abs() < 1e-5, "a constant added to the advantage must not move Q");
        }
    }
}
