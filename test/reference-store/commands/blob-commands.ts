import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { putBlob } from '../contract/blobs.ts'
import { pick, picked, tenants } from '../generate/names.ts'
import { atTenant } from '../generate/places.ts'
import { command } from './command.ts'

/** A few, so that the same bytes are put again, by others too. */
const contents = [new Uint8Array(), Uint8Array.of(0), Uint8Array.of(0, 255, 39), new Uint8Array(5000).fill(7)]

const slice = fc.record({ from: fc.nat({ max: 6 }), length: fc.integer({ min: 1, max: 6 }) })

export const blobCommands = [
  command({
    name: 'putBlob',
    args: fc.record({ ...atTenant, which: fc.nat({ max: contents.length - 1 }) }),
    async run(world, { tenant: name, via, which }) {
      const bytes = contents[which]!
      const mediaType = `application/x-${which}; note='🦊'`
      const blob = createHash('sha256').update(bytes).digest('hex')
      await world.act(
        () => world.handle(name, via).putBlob(bytes, mediaType),
        () => {
          putBlob(world.contract.tenant(name), blob, bytes, mediaType)
          return { blob, mediaType, size: bytes.length }
        },
      )
    },
  }),
  command({
    name: 'getBlob',
    args: fc.record({ ...atTenant, pick, slice: fc.option(slice, { nil: undefined }) }),
    async run(world, { tenant: name, via, pick: index, slice: asked }) {
      const known = tenants.flatMap((other) => [...world.contract.tenant(other).blobs.keys()])
      const blob = picked(known, index) ?? 'f'.repeat(64)
      await world.act(
        async () => {
          const found = await world.handle(name, via).getBlob({ blob, mediaType: '', size: 0 }, asked)
          return found && { ...found, bytes: new Uint8Array(found.bytes) }
        },
        () => {
          const row = world.contract.tenant(name).blobs.get(blob)
          const { from, length } = asked ?? { from: 0, length: 5000 }
          return row ? { bytes: row.bytes.slice(from, from + length), mediaType: row.mediaType } : null
        },
      )
    },
  }),
]
