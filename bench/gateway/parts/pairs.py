"""Rounds in which all sides take turns, and what their pairs say.

Whatever else a machine does meets all sides of a round; so a round gives one ratio or one difference for each pair, and
these are judged, not the sides. Each round begins with another side, so that none always follows the same one.
"""

import math
import statistics

from load.parts.machine import say

# Two-sided 95 % points of Student's t, from 1 degree of freedom on.
T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)


def rounds(count, sides, measure, told):
    """`count` rounds of `measure(side, round)` for each named side; `told` makes a few words of what was found."""
    taken = []
    names = list(sides)
    for number in range(count):
        first = number % len(names)
        found = {}
        for name in names[first:] + names[:first]:
            try:
                found[name] = measure(sides[name], number)
            except RuntimeError as error:
                raise RuntimeError(f"{name}, round {number + 1}: {error}") from error
        taken.append({name: found[name] for name in names})
        say(f"  {number + 1}: " + ", ".join(f"{name} {told(taken[-1][name])}" for name in names))
    return taken


def ratios(taken, ours, theirs, of):
    return [of(one[ours]) / of(one[theirs]) for one in taken]


def differences(taken, ours, theirs, of):
    return [of(one[ours]) - of(one[theirs]) for one in taken]


def interval(values):
    """Mean and the half width of its 95 % interval (Student's t), of two or more pairs' differences."""
    t = T95[min(len(values) - 1, len(T95)) - 1]
    return statistics.mean(values), t * statistics.stdev(values) / math.sqrt(len(values))


def not_above(taken, ours, theirs, of):
    """The pairs' differences in milliseconds in words, and whether ours are not distinguishably above theirs.

    `None` where that cannot be told: one pair, or an interval that is wider on one side than half of what they have.
    """
    values, reference = differences(taken, ours, theirs, of), statistics.median(of(one[theirs]) for one in taken)
    if len(values) < 2:
        return f"{values[0]:+.3f} ms; one pair says nothing", None
    mean, half = interval(values)
    words = f"{mean:+.3f} ms to {reference:.3f} ms (95 % of {mean - half:+.3f} to {mean + half:+.3f})"
    if mean - half > 0:
        return words, False
    return (words, True) if half <= reference / 2 else (f"{words}: too wide to tell", None)
