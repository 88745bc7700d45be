/** How tests name their store. Paths and names that only contain the word do not count, nor does what is remembered. */
const named = {
  memory: '\\(memory\\)|\\bmemory store\\b',
  sqlite: '(?<![\\w/-])sqlite(?![\\w.-])',
  postgres: '(?<![\\w/-])postgres(?![\\w.-])',
}

export type StoreName = keyof typeof named

export const storeNames = Object.keys(named) as StoreName[]

/** By the name of the test and its suites, or by the folder of the adapter it is beside. A test of two stores is on both. */
export function isOn({ file, name }: { readonly file: string; readonly name: string }, store: StoreName): boolean {
  return file.includes(`store/${store}/`) || new RegExp(named[store], 'i').test(name)
}

/** What `STORES` names, as in `STORES=memory,sqlite npm test`. Default: all. */
export function chosenStores(given = process.env['STORES']): StoreName[] {
  if (!given) return storeNames
  return given.split(',').map((name) => {
    const store = storeNames.find((known) => known === name.trim())
    if (!store) throw new Error(`STORES has '${name}', which is no store. Name some of ${storeNames.join(', ')}.`)
    return store
  })
}

/** What vitest must leave out: the tests on stores that were not chosen. Those that name no store always run. */
export function leavingOut(chosen: readonly StoreName[]): { testNamePattern?: RegExp; exclude: string[] } {
  const others = storeNames.filter((store) => !chosen.includes(store))
  if (others.length === 0) return { exclude: [] }
  const names = others.map((store) => named[store]).join('|')
  return {
    testNamePattern: new RegExp(`^(?![^]*(?:${names}))`, 'i'),
    exclude: others.map((store) => `src/store/${store}/**`),
  }
}
