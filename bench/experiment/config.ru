# The service of app.py for Puma: WORK is how many kilobytes a request hashes, WAIT how many milliseconds it waits. Ruby hashes
# one long text, because each call takes longer than a kilobyte.
require "openssl"

DATA = ("x" * 1024 * Integer(ENV.fetch("WORK", "1000"))).freeze
WAIT = Float(ENV.fetch("WAIT", "0")) / 1000

run lambda { |_env|
  OpenSSL::Digest::SHA256.digest(DATA)
  sleep WAIT if WAIT > 0
  [200, { "content-type" => "text/plain", "content-length" => "3" }, ["ok\n"]]
}
