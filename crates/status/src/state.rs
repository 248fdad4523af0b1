//! The names of an instance's states. They never change.

names! {
    /// It takes requests.
    AVAILABLE = "available",
    /// It takes fewer requests at first.
    WARMING = "warming",
    /// It failed and gets nothing for a while.
    EJECTED = "ejected",
    /// It failed its active checks.
    UNHEALTHY = "unhealthy",
    /// It finishes what it has.
    DRAINING = "draining",
    /// It is not in the configuration any more and has requests in flight.
    REMOVED = "removed",
}
