//! The names of an instance's states. They are stable.

names! {
    /// It gets requests.
    AVAILABLE = "available",
    /// It gets fewer requests at first.
    WARMING = "warming",
    /// It failed and gets no requests for some time.
    EJECTED = "ejected",
    /// It failed its active checks.
    UNHEALTHY = "unhealthy",
    /// It finishes its requests.
    DRAINING = "draining",
    /// It is no longer in the configuration and has requests in flight.
    REMOVED = "removed",
}
