# Known work: half of the processor time, a query that takes a random time, the other half. See app.py.
require "pg"

CPU = ENV.fetch("CPU_MS").to_f / 1e3
WAIT = ENV.fetch("WAIT_MS").to_f / 1e3
POOL = Queue.new
ENV.fetch("POOL").to_i.times { POOL << nil }

def spin(seconds)
  finish = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + seconds
  nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < finish
end

def query(seconds)
  connection = POOL.pop
  connection ||= PG.connect(ENV.fetch("DATABASE"))
  connection.exec_params("select pg_sleep($1)", [seconds])
ensure
  POOL << connection
end

run lambda { |_|
  spin(CPU / 2)
  query(-WAIT * Math.log(1 - rand))
  spin(CPU / 2)
  [200, { "content-type" => "text/plain" }, ["ok\n"]]
}
