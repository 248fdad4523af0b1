// The service in Node.js: the work of a request is as the environment says (see work.py).
"use strict";
const http = require("http");
const net = require("net");

const { CPU_MS = 0, WAIT_MS = 0, UPSTREAM, DATABASE, QUERY = "select 1", BODY = 100, PORT, HOST = "127.0.0.1" } = process.env;
const body = Buffer.alloc(Number(BODY), "x");
const agent = new http.Agent({ keepAlive: true });

function spin(ms) {
  if (ms === 0) return;
  const from = process.cpuUsage();
  let used = 0;
  while (used < ms * 1000) {
    for (let i = 0; i < 2000; i++) Math.sqrt(i);
    const now = process.cpuUsage(from);
    used = now.user + now.system;
  }
}

function upstream() {
  const [host, port] = UPSTREAM.split(":");
  return new Promise((resolve, reject) => {
    http.get({ host, port, agent }, (answer) => answer.resume().on("end", resolve)).on("error", reject);
  });
}

// A pool of connections with the simple query protocol, trusted without a password.
const idle = [];
const queue = [];
let open = 0;
function connection() {
  const [host, port] = DATABASE.split(":");
  const one = { socket: net.connect(Number(port), host), data: Buffer.alloc(0), done: null };
  one.socket.setNoDelay(true);
  const words = Buffer.from("user\0headroom\0database\0postgres\0\0");
  const head = Buffer.alloc(8);
  head.writeInt32BE(8 + words.length, 0);
  head.writeInt32BE(196608, 4);
  one.socket.write(Buffer.concat([head, words]));
  one.socket.on("data", (more) => {
    one.data = Buffer.concat([one.data, more]);
    while (one.data.length >= 5 && one.data.length >= 1 + one.data.readInt32BE(1)) {
      const kind = String.fromCharCode(one.data[0]);
      one.data = one.data.subarray(1 + one.data.readInt32BE(1));
      if (kind === "Z") {
        if (one.done) one.done();
        one.done = null;
        idle.push(one);
        next();
      }
    }
  });
}
function next() {
  while (queue.length > 0 && idle.length > 0) {
    const one = idle.pop();
    one.done = queue.shift();
    const words = Buffer.from(QUERY + "\0");
    const head = Buffer.alloc(5);
    head.write("Q");
    head.writeInt32BE(4 + words.length, 1);
    one.socket.write(Buffer.concat([head, words]));
  }
}
function query() {
  return new Promise((resolve) => {
    queue.push(resolve);
    if (idle.length === 0 && open < 10) {
      open++;
      connection();
    }
    next();
  });
}

http.createServer(async (request, response) => {
  request.resume();
  try {
    spin(Number(CPU_MS));
    if (Number(WAIT_MS) > 0) await new Promise((resolve) => setTimeout(resolve, Number(WAIT_MS)));
    if (DATABASE) await query();
    if (UPSTREAM) await upstream();
    response.writeHead(200, { "Content-Length": body.length });
    response.end(body);
  } catch (error) {
    response.writeHead(503);
    response.end(String(error));
  }
}).listen({ port: Number(PORT), host: HOST, backlog: 511 }).keepAliveTimeout = 75000;
