//! The admin listener of a program: where it listens, which requests are allowed, and bounds on its clients. The gateway and the
//! live scaler have one each.
#![warn(missing_docs)]

mod address;
mod bounded;
mod guard;
mod listen;

pub use address::{Address, NoAddress};
pub use guard::{Access, Guard, Token, guarded, problem};
pub use listen::Listener;

use std::sync::{Mutex, MutexGuard, PoisonError};

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The data is consistent between any two statements.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
