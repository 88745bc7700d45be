import 'perdure'
import 'perdure/sqlite'

const { user, system } = process.cpuUsage()
process.stdout.write(JSON.stringify({ cpuMs: (user + system) / 1_000 }))
