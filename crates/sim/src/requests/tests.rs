mod closed_forms;
mod laws;
mod world;
