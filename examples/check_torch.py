"""PyTorch: a log-density, and draws of a sampler without an accept step."""

import torch

import polystein as ps

torch.manual_seed(1)
covariance = torch.tensor([[1.0, 0.6], [0.6, 1.0]], dtype=torch.float64)
target = torch.distributions.MultivariateNormal(torch.zeros(2, dtype=torch.float64), covariance)

x, draws = target.sample((4,)), []
for _ in range(2000):  # unadjusted Langevin steps, which are too wide
    x.requires_grad_()
    (gradient,) = torch.autograd.grad(target.log_prob(x).sum(), x)
    x = (x + 0.15 * gradient + 0.3**0.5 * torch.randn_like(x)).detach()
    draws.append(x)
print(ps.check(ps.from_torch(target.log_prob, torch.stack(draws, dim=1)), rng=1))
