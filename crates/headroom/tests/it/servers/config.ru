run lambda { |env|
  expected = ["", env["SERVER_PROTOCOL"]].include?(env["PATH_INFO"].delete_prefix("/"))
  [expected ? 200 : 505, { "content-type" => "text/plain" }, ["ok\n"]]
}
