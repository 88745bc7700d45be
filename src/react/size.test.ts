import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { expect, test } from 'vitest'

test('the hooks add little to a page that has the client', async () => {
  const client = await sizeOf("export * from './src/client/index.ts'")
  const both = await sizeOf("export * from './src/client/index.ts'\nexport * from './src/react/index.ts'")
  console.log(`gzip without React: client ${client} bytes, hooks ${both - client} more`)
  expect(both - client).toBeLessThan(8_000)
})

async function sizeOf(code: string): Promise<number> {
  const bundle = await rolldown({
    input: 'entry',
    platform: 'browser',
    external: ['react'],
    logLevel: 'silent',
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === 'entry' ? `${process.cwd()}/entry.ts` : null),
        load: (id) => (id.endsWith('/entry.ts') ? code : null),
      },
    ],
  })
  const { output } = await bundle.generate({ format: 'esm', minify: true })
  return gzipSync(output[0].code).length
}
