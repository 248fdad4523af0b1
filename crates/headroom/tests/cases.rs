//! The shipped cases, whole: every required row of each is met. In a binary of its own, because it takes all cores for
//! minutes, and what measures real servers beside it would measure that.

use std::process::Command;

#[test]
fn every_required_row_of_the_shipped_cases_is_met() {
    for case in ["accounts", "five-million", "ngin", "search-cgi", "stresstest"] {
        let output = Command::new(env!("CARGO_BIN_EXE_headroom"))
            .args(["simulate", "--case", case])
            .output()
            .expect("the binary was built for this test");
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{case}:\n{said}{errors}");
        assert!(said.contains(" required rows met"), "{case}:\n{said}");
    }
}
