//! Budgets of the benchmarks.
//!
//! The source of each is the table of budgets of the design, repeated in the budget columns of `benches/RESULTS.md`; of two
//! that differ, the stricter. Benchmarks print all figures first and fail afterwards, so that a run over budget is still a
//! measurement. Times hold on an idle machine.

use crate::budgets::Bound::{AtLeast, AtMost};

/// Limit of a figure.
#[derive(Clone, Copy, Debug)]
enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// Figure of a benchmark and its limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    figure: &'static str,
    bound: Bound,
    unit: &'static str,
}

const fn at_most(figure: &'static str, limit: f64, unit: &'static str) -> Budget {
    Budget { figure, bound: AtMost(limit), unit }
}

const fn at_least(figure: &'static str, limit: f64, unit: &'static str) -> Budget {
    Budget { figure, bound: AtLeast(limit), unit }
}

// "Validating" (bench): times that 95 % of the runs stay below.
pub(crate) const VALIDATE: Budget = at_most("validate one Score file", 1.0, "ms");
pub(crate) const VALIDATE_LARGE: Budget = at_most("validate a generated file of 1 MiB", 100.0, "ms");
pub(crate) const VALIDATE_PROCESS: Budget = at_most("`orchestra validate` as a process", 10.0, "ms");

// "The embedded API" (bench-api).
pub(crate) const API_START: Budget = at_most("start of the API to the first answer", 200.0, "ms");
pub(crate) const SERVE_START: Budget = at_most("`orchestra serve` to API ready, worst", 200.0, "ms");
pub(crate) const SERVE_IDLE_MEMORY: Budget = at_most("idle RSS with all controllers", 40.0, "MiB");
pub(crate) const API_MEMORY: Budget = at_most("RSS of the API after the start", 30.0, "MiB");
pub(crate) const API_OPEN: Budget = at_most("opening 10,000 objects", 1000.0, "ms");
/// Durable creates, as a multiple of a real server in the same run, by connections.
pub(crate) const API_CREATES: [(usize, Budget); 3] = [
    (1, at_least("creates at 1 connection against a real server", 3.0, "times")),
    (16, at_least("creates at 16 connections against a real server", 6.0, "times")),
    (64, at_least("creates at 64 connections against a real server", 6.0, "times")),
];

// "The controllers" (bench-controllers).
pub(crate) const READY: Budget = at_most("apply to Ready of one Workload, p99", 50.0, "ms");
pub(crate) const READY_WITH_CLAIMS: Budget = at_most("1,000 Workloads with a claim, all Ready", 20.0, "s");

// "The controllers" and "On a cluster" (bench-controllers, bench-cluster).
pub(crate) const WRITES: Budget = at_most("writes per Workload", 9.0, "");
pub(crate) const EVENTS: Budget = at_most("writes of Events per Workload", 2.0, "");
pub(crate) const SECOND_PASS: Budget = at_most("writes of a second pass", 0.0, "");
pub(crate) const WORKLOAD_MEMORY: Budget = at_most("RSS per Workload", 15.0, "KiB");
pub(crate) const FAILOVER: Budget = at_most("failover until a new leader serves a new Workload", 5.0, "s");

// "A laptop" (bench-laptop), worst of all runs.
pub(crate) const UP: Budget = at_most("exec to hello Ready", 1000.0, "ms");
pub(crate) const EDIT: Budget = at_most("edit of a variable to new page", 2000.0, "ms");
pub(crate) const UP_DATABASE: Budget =
    at_most("exec to web application with a new postgres Ready", 10_000.0, "ms");
pub(crate) const FAULT: Budget = at_most("permanent fault to the end of `up --detach`", 1000.0, "ms");
pub(crate) const IDLE_CPU: Budget = at_most("CPU when idle, platform and shim", 0.5, "% of a core");
pub(crate) const IDLE_MEMORY: Budget = at_most("idle RSS, platform and shim", 40.0, "MiB");

/// Comparison of the figures of a run with their budgets.
#[derive(Debug, Default)]
pub(crate) struct Verdict(Vec<String>);

/// Figures over budget.
#[derive(Debug, thiserror::Error)]
#[error("over budget:\n  {}", .0.join("\n  "))]
pub(crate) struct OverBudget(Vec<String>);

impl Verdict {
    /// Compares a figure with its budget. A figure that is not a number is over budget.
    pub(crate) fn check(&mut self, budget: &Budget, measured: f64) {
        let Budget { figure, bound, unit } = budget;
        let (holds, words, limit) = match bound {
            AtMost(limit) => (measured <= *limit, "at most", limit),
            AtLeast(limit) => (measured >= *limit, "at least", limit),
        };
        if !holds {
            let line = format!("{figure}: {measured:.2} {unit}, budget {words} {limit} {unit}");
            self.0.push(line.replace(" ,", ",").trim_end().to_owned());
        }
    }

    /// Fails if a figure is over budget.
    pub(crate) fn finish(self) -> Result<(), OverBudget> {
        if self.0.is_empty() { Ok(()) } else { Err(OverBudget(self.0)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(budget: &Budget, measured: f64) -> Result<(), String> {
        let mut verdict = Verdict::default();
        verdict.check(budget, measured);
        verdict.finish().map_err(|error| error.to_string())
    }

    #[test]
    fn a_figure_over_budget_fails_the_run_and_its_limit_is_allowed() {
        for (budget, measured, holds) in [
            (&IDLE_MEMORY, 40.0, true),
            (&IDLE_MEMORY, 40.01, false),
            (&IDLE_MEMORY, 400.0, false),
            (&API_CREATES[1].1, 6.0, true),
            (&API_CREATES[1].1, 5.99, false),
            (&SECOND_PASS, 0.0, true),
            (&SECOND_PASS, 1.0, false),
            (&FAILOVER, f64::NAN, false),
        ] {
            assert_eq!(verdict(budget, measured).is_ok(), holds, "{budget:?} {measured}");
        }
    }

    #[test]
    fn the_error_names_every_figure_and_its_budget() {
        let mut verdict = Verdict::default();
        verdict.check(&IDLE_MEMORY, 400.0);
        verdict.check(&UP, 1.0);
        verdict.check(&WRITES, 9.5);
        verdict.check(&API_CREATES[0].1, 2.0);
        assert_eq!(
            verdict.finish().unwrap_err().to_string(),
            "over budget:\n  idle RSS, platform and shim: 400.00 MiB, budget at most 40 MiB\n  \
             writes per Workload: 9.50, budget at most 9\n  \
             creates at 1 connection against a real server: 2.00 times, budget at least 3 times"
        );
    }
}
