/** `node import-probe.js <package>...`: how long the imports take, and by how much the process grows. */
const before = process.memoryUsage().rss
const start = performance.now()
for (const name of process.argv.slice(2)) await import(name)
const ms = performance.now() - start
process.stdout.write(JSON.stringify({ ms, bytes: process.memoryUsage().rss - before }))
