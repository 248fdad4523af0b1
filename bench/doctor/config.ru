# The service in Puma: the work of a request is as the environment says (see work.py).
require "net/http"

CPU, WAIT, LOCKED = %w[CPU_MS WAIT_MS LOCK_MS].map { |name| ENV.fetch(name, "0").to_f / 1e3 }
BODY = "x" * ENV.fetch("BODY", "100").to_i
UPSTREAM = ENV["UPSTREAM"]&.split(":")
LOCK = Mutex.new

def spin(seconds)
  finish = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + seconds
  nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < finish
end

run lambda { |_|
  spin(CPU)
  sleep(WAIT) if WAIT > 0
  LOCK.synchronize { sleep(LOCKED) } if LOCKED > 0
  if UPSTREAM
    http = Thread.current[:upstream] ||= Net::HTTP.new(UPSTREAM[0], UPSTREAM[1].to_i).tap { |one| one.keep_alive_timeout = 60 }.start
    http.get("/")
  end
  [200, { "content-type" => "text/plain", "content-length" => BODY.bytesize.to_s }, [BODY]]
}
