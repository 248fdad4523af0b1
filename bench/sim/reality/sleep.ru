# The work of app.py with a sleep as its wait.
CPU = ENV.fetch("CPU_MS").to_f / 1e3
WAIT = ENV.fetch("WAIT_MS").to_f / 1e3

def spin(seconds)
  finish = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + seconds
  nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < finish
end

run lambda { |_|
  spin(CPU / 2)
  sleep(-WAIT * Math.log(1 - rand))
  spin(CPU / 2)
  [200, { "content-type" => "text/plain" }, ["ok\n"]]
}
