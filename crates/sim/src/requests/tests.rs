mod closed_forms;
mod world;
