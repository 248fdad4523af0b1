"""The parts of bench/gateway/run: each measures one promise and says whether it is kept."""
