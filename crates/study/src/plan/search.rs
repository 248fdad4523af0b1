//! The fewest replicas that meet a condition.

/// The fewest from 1 to `most` that meet it, if more never miss what fewer meet; `None` if `most` misses it. Begins at
/// `guess`, so that a good guess costs few trials.
pub(super) fn fewest(guess: u32, most: u32, mut meets: impl FnMut(u32) -> bool) -> Option<u32> {
    let mut at = guess.clamp(1, most);
    let (mut missed, mut met) = (0, None);
    let mut step = 1;
    if meets(at) {
        met = Some(at);
        while at > 1 {
            at = at.saturating_sub(step).max(1);
            step *= 2;
            if meets(at) {
                met = Some(at);
            } else {
                missed = at;
                break;
            }
        }
    } else {
        missed = at;
        while missed < most {
            at = missed.saturating_add(step).min(most);
            step *= 2;
            if meets(at) {
                met = Some(at);
                break;
            }
            missed = at;
        }
    }
    let mut met = met?;
    while met - missed > 1 {
        let middle = missed + (met - missed) / 2;
        if meets(middle) { met = middle } else { missed = middle }
    }
    Some(met)
}

#[cfg(test)]
mod tests {
    use super::fewest;

    #[test]
    fn finds_the_fewest_from_every_guess() {
        for needed in [1, 2, 3, 7, 64, 99, 100] {
            for guess in [1, 2, 5, 64, 100, 500] {
                assert_eq!(fewest(guess, 100, |n| n >= needed), Some(needed), "{needed} from {guess}");
            }
        }
        assert_eq!(fewest(3, 100, |_| false), None);
    }
}
