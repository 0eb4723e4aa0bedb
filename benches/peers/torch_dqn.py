"""The DQN gradient step in PyTorch: one step as a CUDA graph, replayed; uniform and proportional replay of 1 M transitions.

The same work as `jax_dqn.py`. Adam is torch's own with `capturable=True` and `fused=True`. Without a GPU the steps run eagerly, to
prove the script.

    python benches/peers/torch_dqn.py
"""

import json
import statistics
import time
from argparse import ArgumentParser

import torch
from torch import nn

N_BARS, N_FEATURE, N_PORTFOLIO, N_ACTION = 100_000, 48, 8, 5
CAPACITY = 1_000_000
ALPHA, BETA, EPS, TAU, LR, CLIP = 0.6, 0.6, 1e-2, 5e-3, 5e-4, 10.0
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
torch.backends.cuda.matmul.allow_tf32 = False


class Dueling(nn.Module):
    """56 → 256 → 256 → value and advantages."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(N_FEATURE + N_PORTFOLIO, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())
        self.head = nn.Linear(256, 1 + N_ACTION)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Q of every action."""
        head = self.head(self.body(x))
        return head[:, :1] + head[:, 1:] - head[:, 1:].mean(1, keepdim=True)


class Learner:
    """Networks, replay and one recorded step."""

    def __init__(self, batch: int, prioritised: bool) -> None:
        torch.manual_seed(1)
        self.batch, self.prioritised = batch, prioritised
        self.online, self.target = Dueling().to(DEVICE), Dueling().to(DEVICE)
        self.target.load_state_dict(self.online.state_dict())
        on_gpu = DEVICE == "cuda"
        self.adam = torch.optim.Adam(self.online.parameters(), lr=LR, capturable=on_gpu, fused=on_gpu)
        put = lambda x: x.to(DEVICE)  # noqa: E731
        self.features = put(torch.randn(N_BARS, N_FEATURE))
        self.bar = put(torch.randint(0, N_BARS - 3, (CAPACITY,)))
        self.portfolio, self.next_portfolio = put(torch.randn(CAPACITY, 8)), put(torch.randn(CAPACITY, 8))
        self.action = put(torch.randint(0, N_ACTION, (CAPACITY, 1)))
        self.reward = put(torch.randn(CAPACITY))
        self.priorities = put(torch.rand(CAPACITY) + 0.1)
        self.strata = put(torch.arange(batch, dtype=torch.float32))
        self.norm = put(torch.zeros(()))
        self.graph = self.record() if on_gpu else None

    def step(self) -> None:
        """One gradient step, in place."""
        if self.prioritised:
            cumulative = self.priorities.cumsum(0)
            mass = (self.strata + torch.rand(self.batch, device=DEVICE)) / self.batch * cumulative[-1]
            slots = torch.searchsorted(cumulative, mass, right=True).clamp_(max=CAPACITY - 1)
            weights = (CAPACITY * self.priorities[slots] / cumulative[-1]) ** -BETA
            weights = weights / weights.max()
        else:
            slots = torch.randint(0, CAPACITY, (self.batch,), device=DEVICE)
            weights = 1.0
        bars = self.bar[slots]
        now = torch.cat([self.features[bars], self.portfolio[slots]], 1)
        then = torch.cat([self.features[bars + 3], self.next_portfolio[slots]], 1)
        with torch.no_grad():
            best = self.online(then).argmax(1, keepdim=True)
            goal = self.reward[slots] + 0.95**3 * self.target(then).gather(1, best)[:, 0]
        td = self.online(now).gather(1, self.action[slots])[:, 0] - goal
        slope = td.detach().clamp(-1.0, 1.0)
        loss = (weights * torch.where(td.abs() <= 1.0, 0.5 * td * td, slope * (td - 0.5 * slope))).mean()
        self.adam.zero_grad(set_to_none=False)
        loss.backward()
        self.norm.copy_(nn.utils.clip_grad_norm_(self.online.parameters(), CLIP, foreach=True))
        self.adam.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(self.target.parameters()), list(self.online.parameters()), TAU)
            if self.prioritised:
                self.priorities[slots] = (td.abs() + EPS) ** ALPHA

    def record(self) -> torch.cuda.CUDAGraph:
        """The step as a graph, after a few to warm up."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(4):
                self.step()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.step()
        return graph

    def run(self, n: int) -> float:
        """n steps and a read; seconds."""
        start = time.perf_counter()
        for _ in range(n):
            if self.graph is None:
                self.step()
            else:
                self.graph.replay()
        assert torch.isfinite(self.norm).item()
        return time.perf_counter() - start


def main() -> None:
    """Times every case."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    for batch in (256, 1_024):
        for prioritised in (False, True):
            learner = Learner(batch, prioritised)
            learner.run(args.steps)
            seconds = statistics.median(learner.run(args.steps) for _ in range(args.runs))
            result = {
                "peer": f"torch {torch.__version__} {DEVICE} graph",
                "batch": batch,
                "replay": "proportional" if prioritised else "uniform",
                "us_per_step": round(seconds / args.steps * 1e6, 1),
            }
            print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
