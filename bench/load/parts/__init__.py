"""The parts of bench/load/run: each measures one promise and says whether it is kept."""
