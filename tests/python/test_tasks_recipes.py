# Recipes of training: optimizers, schedules, parameter groups.
import dataclasses

import pytest
import torch
from tasks_support import RECIPE, KilledError, assert_same_run, small_loss, small_net, train_small
from torch import nn

import tautstring
from tautstring_tasks import checkpoints, training
from tautstring_tasks.errors import InputError
from tautstring_tasks.recipes import Recipe
from tautstring_tasks.sites import make_site

CPU = torch.device("cpu")
OPTIMIZERS = ("adam", "sgd")
SCHEDULES = ("cosine", "steps", "one-cycle")


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_killed_run_of_each_recipe_resumes_to_the_same_result(tmp_path, optimizer, schedule):
    recipe = dataclasses.replace(
        RECIPE, optimizer=optimizer, schedule=schedule, weight_decay=1e-2, lam_lr_factor=5.0
    )
    assert train_small(tmp_path / "whole", small_loss(), recipe).is_done
    with pytest.raises(KilledError):
        train_small(tmp_path / "killed", small_loss(17), recipe)
    assert train_small(tmp_path / "killed", small_loss(), recipe).is_done
    assert_same_run(tmp_path / "whole", tmp_path / "killed")


def test_recipes_differ_in_their_result(tmp_path):
    found = []
    for optimizer in OPTIMIZERS:
        for schedule in SCHEDULES:
            folder = tmp_path / f"{optimizer}_{schedule}"
            recipe = dataclasses.replace(RECIPE, optimizer=optimizer, schedule=schedule)
            train_small(folder, small_loss(), recipe)
            found.append(checkpoints.load(folder / training.WEIGHTS)[0]["0.weight"])
    assert len({tuple(weight.flatten().tolist()) for weight in found}) == len(found)


def test_sgd_has_nesterovs_momentum():
    optimizer = Recipe(optimizer="sgd").make_optimizer(small_net(), {}, CPU)
    assert isinstance(optimizer, torch.optim.SGD)
    for group in optimizer.param_groups:
        assert group["nesterov"]
        assert group["momentum"] == 0.9


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        ("cosine", {0: 1.0, 25: 0.1 + 0.9 * (2 + 2**0.5) / 4, 50: 0.55, 100: 0.1}),
        ("steps", {0: 1.0, 29: 1.0, 30: 0.1, 59: 0.1, 60: 0.01, 90: 0.001, 99: 0.001}),
        ("one-cycle", {0: 0.04, 10: 0.52, 20: 1.0, 60: 0.55, 100: 0.1}),
    ],
)
def test_the_rate_of_a_step_is_that_of_the_schedule(schedule, rates):
    recipe = Recipe(schedule=schedule, steps=100, lr=1.0, last_lr=0.1)
    assert {step: recipe.rate(step) for step in rates} == pytest.approx(rates)


def test_drops_are_where_they_are_asked_for():
    recipe = Recipe(schedule="steps", steps=8, lr=1.0, drops=(0.5, 0.75))
    rates = [recipe.rate(step) for step in range(8)]
    assert rates == pytest.approx([1, 1, 1, 1, 0.1, 0.1, 0.01, 0.01])


@pytest.mark.parametrize("rise", [0.0, 1.0])
def test_one_cycle_may_only_fall_or_only_rise(rise):
    recipe = Recipe(schedule="one-cycle", steps=50, lr=1.0, last_lr=0.0, rise=rise)
    rates = [recipe.rate(step) for step in range(50)]
    assert rates == sorted(rates, reverse=rise == 0)
    assert max(rates) == pytest.approx(1.0, abs=2e-3)


# Nesterov's momentum of 0.9 adds 0.9 of the first step to it.
@pytest.mark.parametrize(("optimizer", "left"), [("adam", 0.95), ("sgd", 1 - 1.9 * 0.05)])
def test_weight_decay_touches_lambda_only_in_layers_that_ask_for_it(optimizer, left):
    net = small_net()
    net.append(make_site("smooth", 2, 0.1, decayed=True))
    raw = net[-1].raw_lam.detach().clone()
    made = Recipe(optimizer=optimizer, weight_decay=0.5).make_optimizer(net, {}, CPU)
    for group in made.param_groups:
        group["lr"] = 0.1
    for parameter in net.parameters():
        parameter.grad = torch.zeros_like(parameter)
    made.step()
    assert torch.equal(net[1].raw_lam, small_net()[1].raw_lam)
    torch.testing.assert_close(net[-1].raw_lam, left * raw)
    for index in (0, 3):
        torch.testing.assert_close(net[index].weight, left * small_net()[index].weight)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_training_with_zero_gradients_leaves_lambda_as_it_is(tmp_path, optimizer):
    recipe = dataclasses.replace(RECIPE, optimizer=optimizer, weight_decay=0.5)
    train_small(tmp_path, lambda net, step, share: 0 * small_loss()(net, step, share), recipe)
    tensors, _ = checkpoints.load(tmp_path / training.WEIGHTS)
    assert torch.equal(tensors["1.raw_lam"], small_net()[1].raw_lam)
    assert not torch.equal(tensors["0.weight"], small_net()[0].weight)


def group_of(groups, parameter):
    return next(g for g in groups if any(each is parameter for each in g["params"]))


def test_lambda_has_its_own_rate():
    net = small_net()
    groups = Recipe(lam_lr_factor=50.0).groups(net, {})
    assert group_of(groups, net[1].raw_lam) == {
        "params": [net[1].raw_lam],
        "factor": 50.0,
        "weight_decay": 0.0,
    }
    assert group_of(groups, net[0].weight)["factor"] == 1.0
    assert sum(len(group["params"]) for group in groups) == len(list(net.parameters())) == 7


def test_a_part_of_a_net_has_its_own_rate():
    net = small_net()
    groups = Recipe(weight_decay=0.1, lam_lr_factor=50.0).groups(net, {"3": 10.0, "1": 7.0})
    assert group_of(groups, net[3].weight)["factor"] == 10.0
    assert group_of(groups, net[0].weight)["factor"] == 1.0
    assert group_of(groups, net[1].raw_lam)["factor"] == 50.0  # whatever part it is in
    assert group_of(groups, net[3].bias)["weight_decay"] == 0.1


def test_a_part_whose_rate_is_0_is_not_trained(tmp_path):
    train_small(tmp_path, small_loss(), rates={"3": 0.0})
    tensors, _ = checkpoints.load(tmp_path / training.WEIGHTS)
    assert torch.equal(tensors["3.weight"], small_net()[3].weight)
    assert not torch.equal(tensors["0.weight"], small_net()[0].weight)


@pytest.mark.parametrize("part", ["head", "3.weight.", "", "0.weight"])
def test_a_rate_of_an_unknown_part_is_named(part):
    with pytest.raises(InputError, match=f"the net has no parameters in {part}, which has its own"):
        Recipe().groups(small_net(), {part: 10.0})


@pytest.mark.parametrize("lam_lr_factor", [50.0, 10.0, 1.0])
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_a_net_with_tv_numbers_its_other_parameters_as_one_without(lam_lr_factor, weight_decay):
    def net(site):
        torch.manual_seed(0)
        return nn.Sequential(site, nn.Conv2d(2, 2, 3), site, nn.BatchNorm2d(2), nn.Conv2d(2, 1, 1))

    def numbered(site):
        recipe = Recipe(lam_lr_factor=lam_lr_factor, weight_decay=weight_decay)
        groups = recipe.make_optimizer(net(site), {"4": 10.0}, CPU).param_groups
        return [
            (parameter, group["factor"], group["weight_decay"])
            for group in groups
            for parameter in group["params"]
        ]

    without, with_tv = numbered(nn.Identity()), numbered(tautstring.TVLayer(2))
    assert len(with_tv) == len(without) + 1
    for (one, *how), (other, *other_how) in zip(without, with_tv, strict=False):
        assert torch.equal(one, other)
        assert how == other_how
