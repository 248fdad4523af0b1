mod problem; mod suggest; mod table; mod scalar; mod file;
mod yaml;
