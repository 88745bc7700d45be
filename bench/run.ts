/** `npm run bench -- stores [--quick] [--only sqlite|postgres]` */
const benches: Readonly<Record<string, () => Promise<{ run(args: readonly string[]): Promise<void> }>>> = {
  stores: async () => ({ run: (await import('./stores.ts')).benchStores }),
  context: async () => ({ run: (await import('./context.ts')).benchContext }),
  parked: async () => ({ run: (await import('./parked.ts')).benchParked }),
  serve: async () => ({ run: (await import('./serve.ts')).benchServe }),
  turns: async () => ({ run: (await import('./turns.ts')).benchTurns }),
  young: async () => ({ run: (await import('./young.ts')).benchYoung }),
  flows: async () => ({ run: (await import('./flows.ts')).benchFlows }),
  forks: async () => ({ run: (await import('./forks.ts')).benchForks }),
  calls: async () => ({ run: (await import('./calls.ts')).benchCalls }),
  'watched-calls': async () => ({ run: (await import('./watched-calls.ts')).benchWatchedCalls }),
  startup: async () => ({ run: (await import('./startup.ts')).benchStartup }),
  fleet: async () => ({ run: (await import('./fleet.ts')).benchFleet }),
  watchers: async () => ({ run: (await import('./watchers.ts')).benchWatchers }),
  'live-text': async () => ({ run: (await import('./live-text.ts')).benchLiveText }),
  fairness: async () => ({ run: (await import('./fairness.ts')).benchFairness }),
  peers: async () => ({ run: (await import('./peers/run.ts')).benchPeers }),
}

const [name = '', ...args] = process.argv.slice(2)
const bench = benches[name]
if (!bench) {
  console.error(`There is no bench '${name}'. Choose one of: ${Object.keys(benches).join(', ')}`)
  process.exitCode = 1
} else await (await bench()).run(args)
