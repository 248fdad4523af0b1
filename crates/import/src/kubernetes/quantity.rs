//! Fields that hold a quantity: `500m`, `2`, `1.5Gi`, `3e2`.

use super::field::{Field, Report};
use control::scaling::hpa::{Milli, Quantity};

/// A quantity in thousandths; an error if it is not one.
pub(super) fn read(field: &Field<'_>, report: &mut Report) -> Option<Milli> {
    let expected = "a quantity such as 500m, 2 or 1Gi";
    let found = Quantity::parse(field.spelled(expected, report)?);
    if found.is_none() {
        field.refuse(expected, report);
    }
    found.map(Quantity::milli)
}

/// A quantity as a share, such as a tolerance; an error if it is not one.
pub(super) fn share(field: &Field<'_>, report: &mut Report) -> Option<Quantity> {
    let expected = "a share such as 0.05 or 50m";
    let found =
        Quantity::parse(field.spelled(expected, report)?).filter(|quantity| quantity.approximate() >= 0.0);
    if found.is_none() {
        field.refuse(expected, report);
    }
    found
}
