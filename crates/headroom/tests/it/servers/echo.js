// node echo.js PORT: says how it read a request: `<<POST /path 5>>`, with the length of the body.
require("http").createServer((request, response) => {
  let length = 0;
  request.on("data", (part) => (length += part.length));
  request.on("end", () => response.end(`<<${request.method} ${request.url} ${length}>>`));
}).listen(Number(process.argv[2]), "127.0.0.1");
