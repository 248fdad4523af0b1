// node server.js HTTP1PORT HTTP2PORT: the same answer by HTTP/1.1 and by HTTP/2 in clear text.
const answer = (request, response) => {
  const expected = ["/", `/HTTP/${request.httpVersion}`].includes(request.url);
  response.writeHead(expected ? 200 : 505, { "content-type": "text/plain" });
  response.end("ok\n");
};
const [http1, http2] = process.argv.slice(2).map(Number);
require("http2").createServer(answer).listen(http2, "127.0.0.1", () => {
  require("http").createServer(answer).listen(http1, "127.0.0.1");
});
