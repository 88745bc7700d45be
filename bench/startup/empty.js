// What the other processes are compared with.
const { user, system } = process.cpuUsage()
process.stdout.write(JSON.stringify({ cpuMs: (user + system) / 1_000 }))
