//! Published values of other programs for the same points, and properties of the law.

use super::solve::linearised;
use super::*;
use crate::printed::prints;
use proptest::prelude::*;
use units::Ratio;

/// Users and scripts an hour of a SPARCcenter 2000 in SPEC SDM 91, from the `usl` package for R (BSD-2).
const SPEC_SDM_91: [(f64, f64); 7] = [
    (1.0, 64.9),
    (18.0, 995.9),
    (36.0, 1652.4),
    (72.0, 1853.2),
    (108.0, 1828.9),
    (144.0, 1775.0),
    (216.0, 1702.2),
];

/// Processors and rays a second of a ray tracer on an Origin 2000, from the `usl` package for R (BSD-2).
const RAYTRACER: [(f64, f64); 11] = [
    (1.0, 20.0),
    (4.0, 78.0),
    (8.0, 130.0),
    (12.0, 170.0),
    (16.0, 190.0),
    (20.0, 200.0),
    (24.0, 210.0),
    (28.0, 230.0),
    (32.0, 260.0),
    (48.0, 280.0),
    (64.0, 310.0),
];

/// MySQL on a Cisco server with 1 to 32 threads: B. Schwartz, "Practical Scalability Analysis with the Universal
/// Scalability Law", as in the tests of usl4j (Apache-2.0).
const CISCO: [f64; 32] = [
    955.16, 1878.91, 2688.01, 3548.68, 4315.54, 5130.43, 5931.37, 6531.08, 7219.8, 7867.61, 8278.71, 8646.7,
    9047.84, 9426.55, 9645.37, 9897.24, 10097.6, 10240.5, 10532.39, 10798.52, 11151.43, 11518.63, 11806.0,
    12089.37, 12075.41, 12177.29, 12211.41, 12158.93, 12155.27, 12118.04, 12140.4, 12074.39,
];

const SURE: Ratio = Ratio::new(0.95).unwrap();

fn points(of: &[(f64, f64)]) -> Vec<Point> {
    of.iter().map(|&(concurrency, throughput)| Point { concurrency, throughput }).collect()
}

fn cisco(count: usize) -> Vec<Point> {
    let numbered = (1_u32..).zip(CISCO).take(count);
    numbered.map(|(threads, throughput)| Point { concurrency: f64::from(threads), throughput }).collect()
}

fn all_print(found: impl IntoIterator<Item = f64>, printed: &str) {
    for (found, printed) in found.into_iter().zip(printed.split(' ')) {
        prints(found, printed);
    }
}

#[test]
fn spec_sdm_91_to_the_printed_digits() {
    let fit = fit(&points(&SPEC_SDM_91)).unwrap();
    let law = fit.law();
    all_print([law.alpha(), law.beta(), law.gamma()], "0.0277285 1.04365e-4 89.9952");
    let errors = [fit.alpha(), fit.beta(), fit.gamma()].map(|found| found.standard_error.unwrap());
    all_print(errors, "0.0091217 1.99e-5 14.2135");
    prints(fit.residual_standard_error().unwrap(), "82.85");
    assert_eq!(fit.degrees_of_freedom(), 4);
    let peak = fit.peak().unwrap();
    all_print([peak.concurrency, peak.throughput], "96.5196 1884");
    let optimum = law.optimum().unwrap();
    all_print([law.limit().unwrap(), optimum, law.throughput(optimum)], "3245.6 36.064 1542");
    let each = || SPEC_SDM_91.iter().map(|(users, _)| *users);
    all_print(each().map(|users| law.throughput(users)), "90 1078 1541 1850 1879 1822 1646");
    // The package divides the measured values by perfect scaling.
    let efficiency = SPEC_SDM_91.iter().map(|(users, scripts)| scripts / users / law.gamma());
    all_print(efficiency, ".7211 .6148 .5100 .2860 .1882 .1370 .0876");
    let residuals = || fit.residuals().iter().copied();
    all_print([residuals().fold(0.0, f64::min), residuals().fold(0.0, f64::max)], "-81.66 111.09");
    // The package's band has the same width everywhere: a one-sided t of the root mean square of the residuals over n -
    // 1.
    let squares: f64 = residuals().map(|off| off * off).sum();
    let band = stats::student_t(0.1, 6.0) * (squares / 6.0).sqrt();
    all_print([law.throughput(1.0) - band, law.throughput(1.0) + band], "-41.4 221");
    // Ours depends on where the points are: at one user it is that of gamma.
    let (low, high) = fit.throughput_interval(1.0, SURE).unwrap();
    assert_eq!((low, high), fit.gamma().interval(SURE).unwrap());
}

#[test]
fn the_straight_line_of_the_older_method() {
    let (sigma, kappa) = linearised(&points(&SPEC_SDM_91)).unwrap();
    all_print([sigma, kappa], "0.01705 7.892e-5");
    let law = Law::new(sigma, kappa, 64.9).unwrap();
    let mean = SPEC_SDM_91.iter().map(|(_, scripts)| scripts).sum::<f64>() / 7.0;
    let (mut left, mut all) = (0.0, 0.0);
    for (users, scripts) in SPEC_SDM_91 {
        left += (scripts - law.throughput(users)).powi(2);
        all += (scripts - mean).powi(2);
    }
    prints(1.0 - left / all, ".9624");
}

#[test]
fn what_if_contention_and_coherency_were_smaller() {
    let gamma = fit(&points(&SPEC_SDM_91)).unwrap().law().gamma();
    let law = Law::new(0.001, 1e-5, gamma).unwrap();
    let found = [law.peak().unwrap().concurrency, law.optimum().unwrap(), law.limit().unwrap()];
    all_print(found, "316.0696 1000 89995.23");
}

#[test]
fn a_service_that_does_not_fall_has_no_coherency() {
    let fit = fit(&points(&RAYTRACER)).unwrap();
    let law = fit.law();
    all_print([law.alpha(), law.gamma(), law.limit().unwrap()], "0.0577708 21.8488 378.2");
    assert_eq!((law.beta(), fit.beta().standard_error), (0.0, None));
    assert_eq!((law.peak(), fit.peak()), (None, Err(Refusal::CoherencyAtBound)));
    assert_eq!(fit.degrees_of_freedom(), 9, "what is at its bound takes up no point");
    all_print([law.optimum().unwrap(), law.throughput(96.0), law.throughput(128.0)], "17.31 323.3 335.5");
    assert_eq!(law.without_coherency(), *law);
}

#[test]
fn six_points_are_enough_for_intervals() {
    let fit = fit(&points(&RAYTRACER[..6])).unwrap();
    let law = fit.law();
    all_print([law.alpha(), law.beta(), law.gamma()], "0.02444 0.00163 20.85605");
    // The package takes a one-sided t with n - 1 degrees of freedom, so its intervals are narrower than ours.
    let t = stats::student_t(0.1, 5.0);
    let theirs = |found: Estimate| [-t, t].map(|t| found.value + t * found.standard_error.unwrap());
    all_print(theirs(fit.alpha()), ".00754 .0414");
    all_print(theirs(fit.beta()), ".0011 .00215");
    all_print(theirs(fit.gamma()), "19.267 22.445");
    let (low, high) = fit.alpha().interval(SURE).unwrap();
    assert!(low < 0.00754 && high > 0.0414, "{low} to {high}");
    // The points end at 20.
    assert!(matches!(fit.peak(), Err(Refusal::BeyondRange { peak, highest: 20.0 }) if peak > 24.0));
}

#[test]
fn the_numbers_of_a_synthetic_service_are_found_again() {
    let measured = [(1, 1.0), (2, 1.8868), (4, 3.0769), (6, 3.5294), (8, 3.5398), (10, 3.3557)];
    let fit = fit(&points(&measured.map(|(n, x)| (f64::from(n), x)))).unwrap();
    let law = fit.law();
    all_print([law.alpha(), law.beta(), law.gamma()], ".02 .02 1.00");
    let peak = fit.peak().unwrap();
    prints(peak.concurrency, "7.0");
    let (low, high) = peak.interval(SURE);
    assert!(low < 7.0 && 7.0 < high && high - low < 0.02, "{low} to {high}");
}

#[test]
fn cisco_as_others_print_it() {
    let fit = fit(&cisco(32)).unwrap();
    let law = fit.law();
    // usl4j and usl-rs require agreement within 0.02 %.
    let near = |found: f64, printed: f64| assert!((found / printed - 1.0).abs() < 2e-4, "{found} {printed}");
    near(law.alpha(), 0.02671591);
    near(law.beta(), 7.690945e-4);
    near(law.gamma(), 995.6486);
    let peak = law.peak().unwrap();
    near(peak.throughput, 12341.0);
    assert_eq!(peak.concurrency.floor(), 35.0);
    assert!(matches!(fit.peak(), Err(Refusal::BeyondRange { highest: 32.0, .. })));
    near(law.throughput(20.0), 11063.633);
    for (threads, millis) in [(1.0, 1.00440), (20.0, 1.80772), (35.0, 2.83591)] {
        near(law.response_time(threads) * 1e3, millis);
    }
    // They leave coherency out when they invert throughput.
    let theirs = law.without_coherency();
    for (throughput, threads) in [(955.0, 0.95810), (11048.0, 15.3504), (12201.0, 17.7322)] {
        near(theirs.concurrency_at_throughput(throughput).unwrap(), threads);
    }
    let ten = super::fit(&cisco(10)).unwrap();
    for (seconds, threads) in [(0.0012, 7.2306), (0.0016, 20.2511), (0.0020, 29.8889)] {
        near(ten.law().concurrency_at_response_time(seconds).unwrap(), threads);
    }
}

#[test]
fn the_ways_back_as_others_print_them() {
    let law = Law::new(0.06, 0.06, 40.0).unwrap();
    let at = |seconds| law.throughput_at_response_time(seconds).unwrap();
    all_print([at(0.03), at(0.04), at(0.05)], "69.3889 82.9156 84.0635");
    let theirs = law.without_coherency();
    let at = |throughput| theirs.response_time_at_throughput(throughput).unwrap();
    all_print([at(400.0), at(500.0), at(600.0)], ".05875 .094 .235");
    assert_eq!(law.response_time_at_throughput(400.0), None, "with coherency so many never come out");
}

#[test]
fn four_points_have_wide_intervals_and_no_peak() {
    // Virtual users and requests a second with a quota of 100 millicores, from the stress-test account.
    let few = points(&[(1.0, 128.86), (10.0, 983.65), (100.0, 1539.6), (1000.0, 2316.3)]);
    let fit = fit(&few).unwrap();
    assert_eq!(fit.peak(), Err(Refusal::TooFewPoints { found: 4, needed: 6 }));
    let (low, high) = fit.gamma().interval(SURE).unwrap();
    assert!(high - low > fit.gamma().value, "{low} to {high}");
    // Three parameters through three points leave no error estimate.
    let three: Vec<Point> =
        SPEC_SDM_91.iter().step_by(3).map(|&(n, x)| Point { concurrency: n, throughput: x }).collect();
    let exact = super::fit(&three).unwrap();
    assert_eq!((exact.residual_standard_error(), exact.alpha().interval(SURE)), (None, None));
    assert_eq!(super::fit(&few[..2]).unwrap_err(), FitError::TooFewLevels { found: 2 });
}

#[test]
fn what_is_no_measurement_is_named() {
    let mut wrong = points(&SPEC_SDM_91);
    wrong[2].throughput = f64::NAN;
    assert!(
        fit(&wrong).unwrap_err().to_string().starts_with("point 3: 36 in flight and NaN responses a second")
    );
    wrong[2] = Point { concurrency: 0.0, throughput: 1.0 };
    assert!(matches!(fit(&wrong), Err(FitError::Point { place: 3, .. })));
    assert_eq!(fit(&[]), Err(FitError::TooFewLevels { found: 0 }));
    let nothing = points(&[(1.0, 0.0), (2.0, 0.0), (3.0, 0.0)]);
    assert_eq!(fit(&nothing), Err(FitError::NothingCameOut));
    for (alpha, beta, gamma) in [(-0.1, 0.0, 1.0), (1.1, 0.0, 1.0), (0.0, -1e-9, 1.0), (0.0, 0.0, 0.0)] {
        assert!(Law::new(alpha, beta, gamma).is_err(), "{alpha} {beta} {gamma}");
    }
}

#[test]
fn points_that_follow_no_such_law_have_no_peak() {
    let jagged = points(&[(1.0, 10.0), (2.0, 100.0), (3.0, 10.0), (4.0, 100.0), (5.0, 10.0), (6.0, 100.0)]);
    let refusal = fit(&jagged).unwrap().peak().unwrap_err();
    assert!(matches!(refusal, Refusal::PoorFit { .. }), "{refusal}");
    // With more in flight, throughput stays the same: contention is all.
    let flat = fit(&points(&[(1.0, 50.0), (2.0, 50.0), (5.0, 50.0), (10.0, 50.0)])).unwrap();
    all_print([flat.law().alpha(), flat.law().gamma()], "1.000 50.000");
}

#[test]
fn a_plateau_is_no_peak() {
    // Twelve slots of 100 ms: the best law bends down, and its peak is among the points.
    let slots = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0].map(|users: f64| (users, users.min(12.0) / 0.1));
    let fit = fit(&points(&slots)).unwrap();
    assert!(fit.law().peak().unwrap().concurrency < 50.0);
    assert_eq!(fit.peak(), Err(Refusal::LevelsOff { best: 120.0, last: 120.0 }));
}

fn law() -> impl Strategy<Value = Law> {
    (0.0..0.5_f64, 1e-6..0.01_f64, 0.1..10_000.0_f64)
        .prop_map(|(alpha, beta, gamma)| Law::new(alpha, beta, gamma).unwrap())
}

proptest! {
    #[test]
    fn an_exact_law_is_found_again(law in law()) {
        let exact: Vec<Point> = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0]
            .map(|concurrency| Point { concurrency, throughput: law.throughput(concurrency) })
            .into();
        let found = fit(&exact).unwrap();
        prop_assert!((found.law().alpha() - law.alpha()).abs() < 1e-6, "{:?} {law:?}", found.law());
        prop_assert!((found.law().beta() - law.beta()).abs() < 1e-6 * (1.0 + law.beta()), "{:?} {law:?}", found.law());
        prop_assert!((found.law().gamma() / law.gamma() - 1.0).abs() < 1e-6, "{:?} {law:?}", found.law());
    }

    #[test]
    fn every_way_back_returns(law in law(), share in 0.01..0.99_f64) {
        let peak = law.peak().unwrap();
        let concurrency = peak.concurrency * share;
        let (throughput, time) = (law.throughput(concurrency), law.response_time(concurrency));
        let near = |found: Option<f64>, known: f64| (found.unwrap() / known - 1.0).abs() < 1e-6;
        prop_assert!(near(law.concurrency_at_throughput(throughput), concurrency));
        prop_assert!(near(law.response_time_at_throughput(throughput), time));
        if concurrency > 1.0 {
            prop_assert!(near(law.concurrency_at_response_time(time), concurrency));
            prop_assert!(near(law.throughput_at_response_time(time), throughput));
        }
        prop_assert_eq!(law.concurrency_at_throughput(peak.throughput * 1.001), None);
        // Little's law.
        prop_assert!((throughput * time / concurrency - 1.0).abs() < 1e-9);
    }

    #[test]
    fn no_concurrency_beats_the_peak_and_none_the_limit(law in law(), concurrency in 0.0..10_000.0_f64) {
        let throughput = law.throughput(concurrency);
        prop_assert!(throughput <= law.peak().unwrap().throughput * (1.0 + 1e-12));
        if let Some(limit) = law.limit() {
            prop_assert!(throughput <= limit * (1.0 + 1e-12) || concurrency < 1.0);
        }
        prop_assert!(concurrency < 1.0 || law.efficiency(concurrency) <= 1.0);
    }

    #[test]
    fn whatever_was_measured_the_numbers_keep_their_bounds(
        throughputs in proptest::collection::vec(0.0..1e4_f64, 3..12),
    ) {
        let numbered = (1_u32..).zip(&throughputs);
        let measured: Vec<Point> = numbered
            .map(|(n, x)| Point { concurrency: f64::from(n), throughput: *x })
            .collect();
        if let Ok(fit) = fit(&measured) {
            let law = fit.law();
            prop_assert!(Law::new(law.alpha(), law.beta(), law.gamma()).is_ok(), "{law:?}");
        }
    }
}
