import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

const root = import.meta.dirname
const source = (entry: string): string => join(root, '..', 'src', entry)

/** Writes each text as `.br` and `.gz` too, so that the server compresses nothing. */
const precompress: Plugin = {
  name: 'precompress',
  apply: 'build',
  writeBundle({ dir = '' }) {
    const assets = join(dir, 'assets')
    for (const name of readdirSync(assets).filter((file) => /\.(js|css|svg)$/.test(file))) {
      const bytes = readFileSync(join(assets, name))
      writeFileSync(join(assets, `${name}.br`), brotliCompressSync(bytes))
      writeFileSync(join(assets, `${name}.gz`), gzipSync(bytes, { level: 9 }))
    }
  },
}

/** `npm run build:studio`: the page, for any address it is mounted at (the server writes its `<base href>`). */
export default defineConfig({
  root,
  base: './',
  plugins: [react(), tailwind(), precompress],
  resolve: {
    alias: {
      'perdure/client': source('client/index.ts'),
      'perdure/react': source('react/index.ts'),
    },
  },
  build: {
    outDir: join(root, '..', 'dist', 'studio'),
    emptyOutDir: true,
    // A data: address would need a laxer content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
  },
})
