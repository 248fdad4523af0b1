// The services of bench/find/run, one by its name: node service.js NAME PORT [REDIS-PORT]. All paths cost the same.
"use strict";
const http = require("http");
const net = require("net");

const [name, port, redisPort] = process.argv.slice(2);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** At most `slots` at a time, first come, first served. */
function semaphore(slots) {
  const waiting = [];
  return async (work) => {
    if (slots > 0) slots -= 1;
    else await new Promise((turn) => waiting.push(turn));
    try {
      return await work();
    } finally {
      const turn = waiting.shift();
      if (turn) turn();
      else slots += 1;
    }
  };
}

function busy(ms) {
  const end = process.hrtime.bigint() + BigInt(Math.round(ms * 1e6));
  while (process.hrtime.bigint() < end);
}

/** Refuses at once what comes above so many in a second. */
function limited(perSecond, status) {
  let [second, count] = [0, 0];
  return async () => {
    const now = Math.floor(Date.now() / 1000);
    [second, count] = now === second ? [second, count + 1] : [now, 1];
    if (count > perSecond) return status;
    await sleep(2);
    return 200;
  };
}

/** Sends what was not done within 100 ms again, twice; the attempts before go on. */
function retrying() {
  const enter = semaphore(4);
  return async () => {
    const attempts = [];
    let done = false;
    for (let number = 0; number < 3 && !done; number += 1) {
      attempts.push(enter(() => sleep(20)).then(() => (done = true)));
      await Promise.race([...attempts, ...(number < 2 ? [sleep(100)] : [])]);
    }
    return 200;
  };
}

/** One connection to Redis: commands one after the other. */
function redis() {
  const socket = net.connect(Number(redisPort), "127.0.0.1");
  socket.setNoDelay(true);
  let answered;
  socket.on("data", () => answered());
  return (command) => new Promise((done) => {
    answered = done;
    socket.write(`${command}\r\n`);
  });
}

/** A request holds one of five connections for two commands with 20 ms between. */
function pool() {
  const free = Array.from({ length: 5 }, redis);
  const enter = semaphore(5);
  return () => enter(async () => {
    const connection = free.pop();
    await connection("GET item");
    await sleep(20);
    await connection("INCR count");
    free.push(connection);
    return 200;
  });
}

const slots = semaphore(8);
const services = {
  semaphore: () => () => slots(() => sleep(25)).then(() => 200),
  cpu: () => async () => (busy(4), 200),
  retries: retrying,
  bimodal: () => () => slots(() => sleep(Math.random() < 0.1 ? 50 : 5)).then(() => 200),
  redis: pool,
  pauses: () => {
    setInterval(() => busy(200), 3000);
    return services.semaphore();
  },
  errors: () => limited(200, 500),
  refusals: () => limited(150, 429),
};

const answer = services[name]();
const server = http.createServer(async (request, response) => {
  const status = await answer();
  response.writeHead(status, { "Content-Type": "text/plain", "Content-Length": 3 });
  response.end("ok\n");
});
server.keepAliveTimeout = 75000;
server.listen(Number(port), "127.0.0.1");
