"""The rollout in PyTorch: a CUDA graph of GRAPH_STEPS steps, replayed, all windows in lockstep.

As in `jax_rollout.py`, layer 1 of the features is one matrix product beforehand; a step adds the portfolio's part, runs the
rest of the network (f32, no TF32) and the account (f64). The step's number lives on the device. Metrics are computed on the
device and read once. Without a GPU the steps run eagerly, to prove the script.

    python benches/peers/torch_rollout.py                                  # all cases
    python benches/peers/torch_rollout.py --windows 8 --bars 100000 --scale 0.1
"""

import torch

import account
import common

GRAPH_STEPS = 50
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
torch.backends.cuda.matmul.allow_tf32 = False


class Rollout:
    """Windows on the device and the recorded steps; windows are uploaded and steps recorded once, as gigabar's are."""

    def __init__(self, market: common.Market, net: common.Network, n_windows: int, n_bars: int) -> None:
        rows = torch.from_numpy(common.window_rows(len(market.close), n_windows, n_bars)).to(DEVICE)
        put = lambda values: torch.from_numpy(values).to(DEVICE)  # noqa: E731
        cut = {name: put(getattr(market, name))[rows] for name in common.COLUMNS}
        following = [cut[name][1:] for name in ("open", "high", "low", "close")]
        self.bars = torch.stack([*following, cut["close"][:-1], cut["sigma"][:-1]], dim=1)  # [n, 6, n_windows]
        self.features = put(market.features)[rows]
        self.net = {name: put(value) for name, value in vars(net).items()}
        self.levels = torch.tensor(common.LEVELS, dtype=torch.float64, device=DEVICE)
        self.n_steps = n_bars - 1
        ones = torch.ones(n_windows, dtype=torch.float64, device=DEVICE)
        self.start = account.fresh(ones)
        self.state = account.Account(*(x.clone() for x in self.start))
        self.t = torch.zeros(1, dtype=torch.int64, device=DEVICE)
        self.projected = torch.empty(self.n_steps, n_windows, common.HIDDEN, device=DEVICE)
        self.path = torch.empty(n_bars, n_windows, dtype=torch.float64, device=DEVICE)
        self.graph = self.record() if DEVICE == "cuda" and self.n_steps >= GRAPH_STEPS else None

    def step(self) -> None:
        """One bar of every window, in place."""
        a, net = self.state, self.net
        bar = account.Bar(*self.bars.index_select(0, self.t)[0])
        portfolio = torch.stack(account.observe(torch, a, bar), dim=-1).float()
        hidden = torch.relu(self.projected.index_select(0, self.t)[0] + portfolio @ net["w1_portfolio"])
        hidden = torch.relu(torch.addmm(net["b2"], hidden, net["w2"]))
        level = self.levels[torch.addmm(net["b3"], hidden, net["w3"]).argmax(-1)]
        for old, new in zip(a, account.step(torch, a, bar, level), strict=True):
            old.copy_(new)
        self.t += 1
        self.path.index_copy_(0, self.t, a.equity[None])

    def record(self) -> torch.cuda.CUDAGraph:
        """GRAPH_STEPS steps as one graph."""
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.step()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(GRAPH_STEPS):
                self.step()
        return graph

    def evaluate(self) -> common.Summaries:
        """Runs all steps and reads [4, n_windows]; the read waits for the device."""
        for old, new in zip(self.state, self.start, strict=True):
            old.copy_(new)
        self.t.zero_()
        self.path[0] = self.start.equity
        torch.matmul(self.features[:-1], self.net["w1_features"], out=self.projected)
        self.projected += self.net["b1"]
        recorded = self.n_steps // GRAPH_STEPS if self.graph else 0
        for _ in range(recorded):
            self.graph.replay()
        for _ in range(self.n_steps - recorded * GRAPH_STEPS):
            self.step()
        final = account.closed_equity(torch, self.state, self.bars[-1, 3])
        self.path[-1] = final
        r = account.returns(torch, self.path)
        sharpe = r.mean(0) / r.std(0, correction=1) * common.PERIODS_PER_YEAR**0.5
        drawdown = (1.0 - self.path / self.path.cummax(0).values).amax(0)
        return torch.stack([sharpe, final - common.INITIAL_CASH, drawdown, final]).cpu().numpy()


@torch.inference_mode()
def main() -> None:
    """Checks, then times every case."""
    args = common.rollout_arguments("gigabar's rollout in PyTorch", scale=0.2).parse_args()
    market, net = common.random_walk(common.SERIES_BARS), common.random_network()
    common.check_small("torch", lambda w, t: Rollout(market, net, w, t).evaluate(), market, net)
    kind = f"graph of {GRAPH_STEPS}" if DEVICE == "cuda" else "eager"
    for n_windows, n_bars in common.cases(args):
        rollout = Rollout(market, net, n_windows, n_bars)
        common.measure(f"torch {torch.__version__} {DEVICE} {kind}", n_windows, n_bars, rollout.evaluate, args.runs)
        del rollout


if __name__ == "__main__":
    main()
