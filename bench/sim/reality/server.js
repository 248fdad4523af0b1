// The work of app.py on the event loop of Node.js.
const http = require("http");

const CPU = Number(process.env.CPU_MS) * 1e3;
const WAIT = Number(process.env.WAIT_MS);

function spin(micros) {
  const begin = process.cpuUsage();
  for (;;) {
    const used = process.cpuUsage(begin);
    if (used.user + used.system >= micros) return;
  }
}

http
  .createServer((_, response) => {
    spin(CPU / 2);
    setTimeout(() => {
      spin(CPU / 2);
      response.end("ok\n");
    }, -WAIT * Math.log(1 - Math.random()));
  })
  .listen(Number(process.env.PORT), "127.0.0.1");
