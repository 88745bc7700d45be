/**
 * Lets a program import 'perdure' as its users do, before the package is built:
 * `node --import ./test/support/perdure-from-source.ts program.ts`.
 */
import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import { perdureEntries } from '../setup/perdure-entries.ts'

const entries = perdureEntries()

registerHooks({
  resolve(specifier, context, nextResolve) {
    const entry = entries.find(({ find }) => find.test(specifier))
    return entry ? { url: pathToFileURL(entry.replacement).href, shortCircuit: true } : nextResolve(specifier, context)
  },
})
