// A service for Node.js: WORK is how many times a request hashes a kilobyte, WAIT how many milliseconds it waits.
const { createHash } = require('crypto')
const { createServer } = require('http')

const work = Number(process.env.WORK || 500)
const wait = Number(process.env.WAIT || 0)
const bytes = Buffer.alloc(1024, 'x')

createServer((_request, response) => {
  for (let done = 0; done < work; done++) createHash('sha256').update(bytes).digest()
  const answer = () => response.end('ok\n')
  if (wait) setTimeout(answer, wait)
  else answer()
}).listen(Number(process.argv[2]), '127.0.0.1')
