//! Bounded least squares of the law: Levenberg-Marquardt steps, projected onto the bounds.
//!
//! A step changes only the free parameters: at a bound, one that would leave it is held there. The columns are scaled
//! by their length, because coherency is thousands of times smaller than the rest. K. Madsen, H. B. Nielsen, O.
//! Tingleff, "Methods for Non-Linear Least Squares Problems", 2004; C. T. Kelley, "Iterative Methods for Optimization",
//! SIAM 1999, chapter 5 (projection).

use super::fit::Point;
use super::law::Law;
use libm::{fabs, sqrt};

/// Contention, coherency, throughput at a concurrency of one.
pub(super) type Three = [f64; 3];

/// The best law, and which of its parameters are not at a bound.
pub(super) struct Best {
    pub(super) law: Law,
    pub(super) free: [bool; 3],
    /// Sum of squared residuals.
    pub(super) squares: f64,
    /// Variances and covariances of the free parameters, for residuals of variance 1, and zero for the others; `None`
    /// if the points do not determine the parameters.
    pub(super) covariance: Option<[Three; 3]>,
}

/// The best law for points that have been checked.
pub(super) fn best(points: &[Point]) -> Best {
    let mut at = descend(points, start(points, (0.05, 1e-4)));
    for known in [linearised(points), Some((0.5, 1e-2)), Some((0.0, 0.0))].into_iter().flatten() {
        let other = descend(points, start(points, known));
        if squares(points, &other) < squares(points, &at) {
            at = other;
        }
    }
    let (normal, gradient) = normal(points, &at);
    let free = free(&at, &gradient);
    Best { law: law_of(&at), free, squares: squares(points, &at), covariance: inverse(&normal, free) }
}

fn start(points: &[Point], (alpha, beta): (f64, f64)) -> Three {
    let (alpha, beta) = (alpha.clamp(0.0, 1.0), beta.max(0.0));
    [alpha, beta, alone(points, alpha, beta)]
}

/// Contention and coherency by a straight line through transformed points, with gamma taken from the first point: N /
/// (X / γ) − 1 = α (N − 1) + β N (N − 1). It gives that point too much weight, but is near.
pub(super) fn linearised(points: &[Point]) -> Option<(f64, f64)> {
    let first = points.iter().min_by(|one, other| one.concurrency.total_cmp(&other.concurrency))?;
    let gamma = first.throughput / first.concurrency;
    let (mut aa, mut ab, mut bb, mut ay, mut by) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for point in points.iter().filter(|point| point.throughput > 0.0) {
        let n = point.concurrency;
        let (a, b, y) = (n - 1.0, n * (n - 1.0), gamma * n / point.throughput - 1.0);
        aa += a * a;
        ab += a * b;
        bb += b * b;
        ay += a * y;
        by += b * y;
    }
    let determinant = aa * bb - ab * ab;
    (determinant > 0.0).then(|| ((ay * bb - by * ab) / determinant, (by * aa - ay * ab) / determinant))
}

/// The best gamma for given contention and coherency: it enters linearly.
fn alone(points: &[Point], alpha: f64, beta: f64) -> f64 {
    let one = Law::within(alpha, beta, 1.0);
    let (mut top, mut bottom) = (0.0, 0.0);
    for point in points {
        let scaled = one.throughput(point.concurrency);
        top += scaled * point.throughput;
        bottom += scaled * scaled;
    }
    top / bottom
}

fn descend(points: &[Point], mut at: Three) -> Three {
    let mut damping = 1e-3;
    let mut sum = squares(points, &at);
    for _ in 0..STEPS {
        let (normal, gradient) = normal(points, &at);
        let free = free(&at, &gradient);
        let mut damped = normal;
        for (place, row) in damped.iter_mut().enumerate() {
            row[place] *= 1.0 + damping;
        }
        let step = inverse(&damped, free).map(|inverse| times(&inverse, &gradient));
        let next = step.map(|step| project([at[0] + step[0], at[1] + step[1], at[2] + step[2]], at[2]));
        match next.map(|next| (next, squares(points, &next))) {
            Some((next, less)) if less < sum => {
                let moved = (0..3).any(|place| fabs(next[place] - at[place]) > CLOSE * fabs(at[place]));
                (at, sum) = (next, less);
                damping = (damping * 0.1).max(1e-15);
                if !moved {
                    break;
                }
            }
            _ if damping > 1e12 => break,
            _ => damping *= 10.0,
        }
    }
    at
}

fn project(at: Three, before: f64) -> Three {
    [at[0].clamp(0.0, 1.0), at[1].max(0.0), if at[2] > 0.0 { at[2] } else { before * 0.1 }]
}

/// Which parameters may move: all but those at a bound that the sum of squares pushes against it.
fn free(at: &Three, gradient: &Three) -> [bool; 3] {
    let alpha = !(at[0] <= 0.0 && gradient[0] <= 0.0 || at[0] >= 1.0 && gradient[0] >= 0.0);
    [alpha, !(at[1] <= 0.0 && gradient[1] <= 0.0), true]
}

fn squares(points: &[Point], at: &Three) -> f64 {
    let law = law_of(at);
    points.iter().map(|point| point.throughput - law.throughput(point.concurrency)).map(|off| off * off).sum()
}

/// The normal matrix, and the direction in which the sum of squares falls.
fn normal(points: &[Point], at: &Three) -> ([Three; 3], Three) {
    let law = law_of(at);
    let (mut normal, mut gradient) = ([[0.0; 3]; 3], [0.0; 3]);
    for point in points {
        let slopes = slopes(&law, point.concurrency);
        let off = point.throughput - law.throughput(point.concurrency);
        for row in 0..3 {
            gradient[row] += slopes[row] * off;
            for column in 0..3 {
                normal[row][column] += slopes[row] * slopes[column];
            }
        }
    }
    (normal, gradient)
}

/// The derivatives of throughput by each of the three parameters.
pub(super) fn slopes(law: &Law, concurrency: f64) -> Three {
    let slowdown = law.slowdown(concurrency);
    let by_contention = -law.gamma() * concurrency * (concurrency - 1.0) / (slowdown * slowdown);
    [by_contention, by_contention * concurrency, concurrency / slowdown]
}

/// The inverse over the free rows and columns, zero elsewhere; `None` if it is singular.
fn inverse(matrix: &[Three; 3], free: [bool; 3]) -> Option<[Three; 3]> {
    let scale = [0, 1, 2].map(|place: usize| sqrt(matrix[place][place]));
    let mut rows = [[0.0; 6]; 3];
    for row in 0..3 {
        if !free[row] {
            rows[row][row] = 1.0;
        } else if scale[row] > 0.0 && scale[row].is_finite() {
            for column in (0..3).filter(|column| free[*column]) {
                rows[row][column] = matrix[row][column] / scale[row] / scale[column];
            }
        } else {
            return None;
        }
        rows[row][3 + row] = 1.0;
    }
    for pivot in 0..3 {
        let largest =
            (pivot..3).max_by(|one, other| fabs(rows[*one][pivot]).total_cmp(&fabs(rows[*other][pivot])))?;
        rows.swap(pivot, largest);
        let by = rows[pivot][pivot];
        if fabs(by) < SINGULAR {
            return None;
        }
        rows[pivot].iter_mut().for_each(|cell| *cell /= by);
        let pivoted = rows[pivot];
        for (row, cells) in rows.iter_mut().enumerate() {
            let factor = cells[pivot];
            if row != pivot {
                cells.iter_mut().zip(pivoted).for_each(|(cell, other)| *cell -= factor * other);
            }
        }
    }
    let mut inverse = [[0.0; 3]; 3];
    for row in (0..3).filter(|row| free[*row]) {
        for column in (0..3).filter(|column| free[*column]) {
            inverse[row][column] = rows[row][3 + column] / scale[row] / scale[column];
        }
    }
    Some(inverse)
}

pub(super) fn times(matrix: &[Three; 3], vector: &Three) -> Three {
    matrix.map(|row| row.iter().zip(vector).map(|(one, other)| one * other).sum())
}

fn law_of(at: &Three) -> Law {
    Law::within(at[0], at[1], at[2])
}

/// Far more than needed.
const STEPS: u32 = 500;
/// A step that changes no parameter by more than this part ends the descent.
const CLOSE: f64 = 1e-12;
/// Columns are scaled to length 1, so this is a correlation of nearly one.
const SINGULAR: f64 = 1e-14;
