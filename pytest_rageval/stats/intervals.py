"""The interval of a weighted mean in 0..1, whose ends no worse answer raises; Student's t."""

from __future__ import annotations

import cmath
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import mul
from typing import Final

# Above so many scores, those of each weight are spread over a grid. Whether they are depends on
# their number alone, so that the ends move with the scores and never jump. Weights share the steps
# of the grid, but each has the least.
_MANY: Final = 200
_GRID: Final = 200
_LEAST_GRID: Final = 20

_STEP: Final = 0.2
"""Of the trapezoidal rule, whose error falls as exp(-c/step): here below 1e-9 of the result."""
_LEAN: Final = 0.3
_MOST_LEANING: Final = 0.8
"""How far the line of the integral leans, in radians: for each unit of skewness, and at most."""
_NOTHING: Final = 1e-14
"""The integral ends at a term that is so small beside the first one."""
_NEAR: Final = 1e-7
"""How near 0 a root is sought, in standard deviations or in log P; the last step goes nearer."""

_NEARLY_NORMAL: Final = 1e6
"""Degrees of freedom with which Student's distribution is the normal one, for a first guess."""
_NO_MEAN: Final = 1e-12
"""Below it squares of terms vanish; so little is as good as 0."""

Pair = tuple[float, float]
Shapes = Mapping[Pair, float]


def mean_bounds(
    values: Sequence[float], weights: Sequence[float], tail: float, extra: float = 1.0
) -> Pair:
    """Return the ends of the interval of the weighted mean of ``values``, which are in 0..1.

    There is one at least; ``weights`` are above 0. Each end is to be on the wrong side of the true
    mean with a probability of ``tail`` at most (0 < ``tail`` < 1/2): proved for values of 0 and 1
    that weigh the same, in simulations true of others, too. Values that depend on each other are to
    be one value, of the sum of their weights. ``extra`` (above 0) answers that nobody saw count as
    bad, or as good, as can be: with less than one nothing is proved, and the ends still move with
    the values.

    >>> [round(end, 4) for end in mean_bounds([1.0] * 18 + [0.0] * 2, [1.0] * 20, 0.025)]
    [0.683, 0.9877]
    """
    total = math.fsum(weights)
    mean = min(max(math.fsum(map(mul, values, weights)) / total, 0.0), 1.0)
    shares = [weight / total for weight in weights]
    shapes: Shapes = Counter(zip(values, shares, strict=True))
    # An answer that nobody saw weighs as those seen do on average, each counted by its share.
    unseen = math.fsum(shape * share * share for (_, share), shape in shapes.items())
    if len(values) > _MANY:
        shapes = _on_a_grid(shapes)
    rows = [(value, share, shape) for (value, share), shape in shapes.items()]
    turned = [(1.0 - value, share, shape) for value, share, shape in rows]
    lower = _lower_end(rows, (unseen, extra), tail, mean)
    upper = 1.0 - _lower_end(turned, (unseen, extra), tail, 1.0 - mean)
    return min(lower, mean), max(upper, mean)


def _lower_end(
    rows: Sequence[tuple[float, float, float]], unseen: Pair, tail: float, mean: float
) -> float:
    """Return the t with P(M <= t) = ``tail``: near it by a formula, then by the integral.

    M is the mean if a gamma variable stands for each sample (see ``_Sum``). ``rows`` are scores,
    their shares of all weight, and how many samples have both; ``unseen`` has the latter two for
    the extra answer, whose score is 0.
    """
    if mean < _NO_MEAN:
        return 0.0
    values, shares, shapes = map(list, zip(*rows, (0.0, *unseen), strict=True))
    atoms, wanted = _Atoms(values, shares, shapes), -t_quantile(1.0 - tail, _NEARLY_NORMAL)
    guess = _guess(atoms, wanted)
    t, slope = _root(lambda t: _near_quantile(_Sum.of(atoms, t)) - wanted, mean, *guess)
    # From the slope of the quantile to that of log P.
    slope *= math.exp(-0.5 * wanted * wanted) / math.sqrt(2.0 * math.pi) / tail
    return _root(lambda t: math.log(_probability(_Sum.of(atoms, t)) / tail), mean, t, slope)[0]


@dataclass(frozen=True, slots=True)
class _Atoms:
    """Scores with their weights, and how many samples have both: the shape of a gamma variable."""

    values: list[float]
    weights: list[float]
    shapes: list[float]


def _on_a_grid(shapes: Shapes) -> Shapes:
    """Return scores shared out between the grid's points below and above them.

    The mean stays, the spread grows by half a step at most, and lowering a score still moves
    shares downwards only.
    """
    steps = max(_LEAST_GRID, _GRID // len({share for _, share in shapes}))
    found: defaultdict[Pair, float] = defaultdict(float)
    for (value, share), shape in shapes.items():
        below = min(math.floor(value * steps), steps - 1)
        above = value * steps - below
        for point, part in ((below, 1.0 - above), (below + 1, above)):
            if part > 0.0:
                found[point / steps, share] += part * shape
    return found


def _guess(atoms: _Atoms, wanted: float) -> Pair:
    """Return t by the normal distribution, and how fast the quantile grows there."""
    sizes = list(map(mul, atoms.weights, atoms.shapes))
    total = math.fsum(sizes)
    centre = math.fsum(map(mul, atoms.values, sizes)) / total
    rows = zip(atoms.values, atoms.weights, sizes, strict=True)
    variance = math.fsum(size * weight * (x - centre) ** 2 for x, weight, size in rows)
    deviation = math.sqrt(variance) / total
    return centre + wanted * deviation, 1.0 / deviation


def _root(off: Callable[[float], float], high: float, t: float, slope: float) -> Pair:
    """Return where ``off``, which rises, is 0 between 0 and ``high``, and its slope there.

    The secant method, kept inside a bracket, from a first guess of both.
    """
    low, last = 0.0, None
    for _ in range(100):
        if not low < t < high:
            t = (low + high) / 2.0
        here = off(t)
        if last is not None and (t - last[0]) * (here - last[1]) > 0.0:
            slope = (here - last[1]) / (t - last[0])
        low, high, last = (t, high, (t, here)) if here < 0.0 else (low, t, (t, here))
        t -= here / slope
        if abs(here) < _NEAR or high - low < 1e-15:
            break
    return min(max(t, low), high), slope


@dataclass(frozen=True, slots=True)
class _Sum:
    """The sum Σ G c, c = w (x - t), of gamma variables G: M = Σ G w x / Σ G w <= t if it is <= 0.

    Its cumulant function is K(s) = -Σ shape · log(1 - s c); at ``saddle`` K'(s) is 0, and
    ``spread`` is the root of K''(s).
    """

    terms: list[float]
    shapes: list[float]
    saddle: float
    spread: float

    @classmethod
    def of(cls, atoms: _Atoms, t: float) -> _Sum:
        """Find the saddle point by Newton's method inside a shrinking bracket."""
        pairs = zip(atoms.values, atoms.weights, strict=True)
        terms, shapes = [weight * (x - t) for x, weight in pairs], atoms.shapes
        left, right, s, spread = 1.0 / min(terms), 1.0 / max(terms), 0.0, 0.0
        for _ in range(100):
            tilted = [c / (1.0 - s * c) for c in terms]
            sizes = list(map(mul, shapes, tilted))
            slope, spread = sum(sizes), math.sqrt(sum(map(mul, sizes, tilted)))
            if abs(slope) < 1e-8 * spread:
                break
            left, right = (left, s) if slope > 0.0 else (s, right)
            s -= slope / spread**2
            if not left < s < right:
                s = (left + right) / 2.0
        return cls(terms, shapes, s, spread)

    def cumulant(self, s: float) -> float:
        """Return K(s)."""
        return -sum(a * math.log(1.0 - s * c) for a, c in zip(self.shapes, self.terms, strict=True))


def _near_quantile(of: _Sum) -> float:
    """Return the normal quantile of P(sum <= 0), to some thousandths (Barndorff-Nielsen 1986)."""
    r = math.copysign(math.sqrt(max(-2.0 * of.cumulant(of.saddle), 0.0)), of.saddle)
    return r + math.log(of.saddle * of.spread / r) / r if abs(r) > 0.1 else r


def _probability(of: _Sum) -> float:
    """Return P(sum <= 0) = -1/(2πi) ∫ exp(K(s))/s ds, along a line left of 0.

    Through the saddle point the integrand is a bell (Daniels 1987, Tail probability approximation).
    The line leans the way of steepest descent, by the skewness, lest the integrand oscillate far
    out; its points go as sinh, so that tails that fall as a power only are soon passed.
    """
    # The pole at 0 stays 0.6/spread away. That is well inside of where K is defined; with ``extra``
    # below 1 it need not be, and 0.6 of the way to the edge of that is the most.
    at = min(of.saddle, max(-0.6 / of.spread, 0.6 / min(of.terms)))
    tilted = [c / (1.0 - at * c) for c in of.terms]
    squares = [a * r * r for a, r in zip(of.shapes, tilted, strict=True)]
    spread = math.sqrt(sum(squares))
    skewness = 2.0 * sum(map(mul, squares, tilted)) / spread**3
    lean = min(max(_LEAN * skewness, -_MOST_LEANING), _MOST_LEANING)
    along, aside = math.cos(lean) / spread, math.sin(lean) / spread
    total, u, size = 0.5 * along / at, 0.0, 1.0
    while size > _NOTHING:
        u += _STEP
        sinh, cosh = math.sinh(u), math.cosh(u)
        step, speed = (
            complex((cosh - 1.0) * aside, sinh * along),
            complex(sinh * aside, cosh * along),
        )
        logs = [cmath.log(1.0 - step * r) for r in tilted]
        term = cmath.exp(-sum(map(mul, of.shapes, logs))) * speed / (at + step)
        total += term.imag
        size = abs(term / along * at)
    return max(-math.exp(of.cumulant(at)) * total * _STEP / math.pi, 1e-300)


_TINY = 1e-300

LARGEST_PROBABILITY: Final = math.nextafter(1.0, 0.0)
"""The largest probability with a quantile; a confidence closer to 1 is rounded to it."""


@lru_cache(maxsize=4096)
def t_quantile(probability: float, degrees: float) -> float:
    """Return x with P(T <= x) = ``probability`` for T with ``degrees`` degrees of freedom.

    ``probability`` lies strictly between 0 and 1, ``degrees`` is positive; ValueError otherwise.
    For the probabilities that intervals use, the relative error is below 1e-12 up to some thousand
    degrees, and below 1e-8 up to ten million.

    >>> round(t_quantile(0.975, 10), 6)
    2.228139
    """
    if not 0.0 < probability < 1.0 or degrees <= 0.0:
        raise ValueError(f"no t quantile for probability {probability} and {degrees} degrees")
    if probability == 0.5:
        return 0.0
    if probability < 0.5:
        return -t_quantile(1.0 - probability, degrees)
    low, high = 0.0, 1.0
    while t_cdf(high, degrees) < probability:
        low, high = high, high * 2.0
    for _ in range(200):
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        if t_cdf(middle, degrees) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def t_cdf(x: float, degrees: float) -> float:
    """Return P(T <= x) for T with ``degrees`` degrees of freedom."""
    tail = 0.5 * _incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + x * x))
    return 1.0 - tail if x > 0 else tail


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b)."""
    if x in (0.0, 1.0):
        return x
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    # The fraction converges fast on one side of the mean; symmetry gives the other side.
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _beta_fraction(a, b, x) / a
    return 1.0 - front * _beta_fraction(b, a, 1.0 - x) / b


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of I_x(a, b) by Lentz's method."""
    c = 1.0
    d = 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1.0))
    result = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        d = 1.0 / _away_from_zero(1.0 + even * d)
        c = _away_from_zero(1.0 + even / c)
        result *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        d = 1.0 / _away_from_zero(1.0 + odd * d)
        c = _away_from_zero(1.0 + odd / c)
        step = d * c
        result *= step
        if abs(step - 1.0) < 1e-16:
            break
    return result


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
